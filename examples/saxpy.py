"""y += a x: the smallest kernel."""

from __future__ import annotations

import numpy as np

import lend
from lend import Mut, Ref, f32
from lend.dims import N


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


def main() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(1_000_000, np.float32), rng.random(1_000_000, np.float32)
    expected = y + np.float32(2.5) * x
    saxpy(2.5, x, y)
    error = float(np.abs(y - expected).max())
    assert error < 1e-6
    print(f"saxpy: {x.size} elements, largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
