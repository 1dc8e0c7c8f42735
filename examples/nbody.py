"""Bodies under gravity, leapfrog steps at host level; the total energy is a reduction."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N

SOFTENING = 0.01


@lend.kernel
def simulate(x: Mut[f64, N, Literal[3]], v: Mut[f64, N, Literal[3]], mass: Ref[f64, N], dt: f64, steps: i64):
    for _ in range(steps):
        for i in lend.grid(N):
            ax = 0.0
            ay = 0.0
            az = 0.0
            for j in range(N):
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                dz = x[j, 2] - x[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + SOFTENING
                s = mass[j] / (r2 * math.sqrt(r2))
                ax += s * dx
                ay += s * dy
                az += s * dz
            v[i, 0] += dt * ax
            v[i, 1] += dt * ay
            v[i, 2] += dt * az
        for i, k in lend.grid(N, 3):
            x[i, k] += dt * v[i, k]


@lend.kernel
def energy(x: Ref[f64, N, Literal[3]], v: Ref[f64, N, Literal[3]], mass: Ref[f64, N]) -> f64:
    total = 0.0
    for i in lend.grid(N):
        total += 0.5 * mass[i] * (v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        for j in range(i):
            dx = x[j, 0] - x[i, 0]
            dy = x[j, 1] - x[i, 1]
            dz = x[j, 2] - x[i, 2]
            total += -mass[i] * mass[j] / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
    return total


Array = NDArray[np.float64]


def simulate_numpy(x: Array, v: Array, mass: Array, dt: float, steps: int) -> None:
    for _ in range(steps):
        d = x[None] - x[:, None]
        r2 = (d * d).sum(-1) + SOFTENING
        v += dt * (d * (mass / (r2 * np.sqrt(r2)))[..., None]).sum(1)
        x += dt * v


def main() -> None:
    rng = np.random.default_rng(1)
    x, v, mass = rng.normal(size=(300, 3)), rng.normal(size=(300, 3)) * 0.1, rng.random(300)
    other_x, other_v = x.copy(), v.copy()
    before = energy(x, v, mass)
    simulate(x, v, mass, 1e-4, 10)
    simulate_numpy(other_x, other_v, mass, 1e-4, 10)
    error = float(np.abs(x - other_x).max())
    assert error < 1e-9
    drift = abs(energy(x, v, mass) / before - 1)
    print(f"nbody: 10 steps, largest difference from NumPy {error:.1e}, energy drift {drift:.1e}")


if __name__ == "__main__":
    main()
