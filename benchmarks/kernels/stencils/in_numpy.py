"""Stencils with time steps in NumPy."""

from __future__ import annotations


def jacobi_1d(a, b, steps):
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def jacobi_2d(a, b, steps):
    for _ in range(steps):
        for u, v in ((a, b), (b, a)):
            v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])


def heat_3d(a, b, steps):
    for _ in range(steps):
        for u, v in ((a, b), (b, a)):
            c = u[1:-1, 1:-1, 1:-1]
            v[1:-1, 1:-1, 1:-1] = (
                0.125 * (u[2:, 1:-1, 1:-1] - 2.0 * c + u[:-2, 1:-1, 1:-1])
                + 0.125 * (u[1:-1, 2:, 1:-1] - 2.0 * c + u[1:-1, :-2, 1:-1])
                + 0.125 * (u[1:-1, 1:-1, 2:] - 2.0 * c + u[1:-1, 1:-1, :-2])
                + c
            )


def fdtd_2d(ex, ey, hz, fict):
    for value in fict:
        ey[0, :] = value
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
