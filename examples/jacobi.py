"""Laplace's equation on a square plate, iterated until it changes by less than a tolerance. The loop itself is compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Mut, f64, i32
from lend.dims import M, N


@lend.kernel
def jacobi(u: Mut[f64, N, M], v: Mut[f64, N, M], tol: f64, max_steps: i32) -> i32:
    assert N >= 3 and M >= 3  # a contract: checked once at launch
    steps = i32(0)
    err = tol + 1.0
    while err > tol and steps < max_steps:  # host level: sequential, compiled too
        err = 0.0
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            err = max(err, abs(v[i, j] - u[i, j]))  # a reduction, recognised
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            u[i, j] = v[i, j]
        steps += 1
    return steps


def jacobi_numpy(u: NDArray[np.float64], tol: float, max_steps: int) -> int:
    steps, err = 0, tol + 1.0
    while err > tol and steps < max_steps:
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        err = float(np.abs(inner - u[1:-1, 1:-1]).max())
        u[1:-1, 1:-1] = inner
        steps += 1
    return steps


def main() -> None:
    plate = np.zeros((100, 120))
    plate[0, :] = 100.0
    u, v, expected = plate.copy(), plate.copy(), plate.copy()
    steps = jacobi(u, v, 1e-2, 10_000)
    assert steps == jacobi_numpy(expected, 1e-2, 10_000)
    error = float(np.abs(u - expected).max())
    assert error < 1e-12
    print(f"jacobi: {steps} steps, as many as NumPy, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
