"""Particles as records: positions and velocities that bounce off the walls of a box."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import lend
from lend import Mut, Ref, f64, i32, i64
from lend.dims import N


@lend.struct
class Vector:
    x: f64
    y: f64


@lend.struct
class Particle:
    position: Vector
    velocity: Vector
    bounces: i32
    dtype: ClassVar[np.dtype[Any]]  # for type checkers: the decorator adds it


@lend.function
def bounce(position: f64, velocity: f64) -> tuple[f64, f64, i32]:
    """Position and velocity after a reflection at 0 or 1, and how many there were."""
    if position < 0.0:
        return -position, -velocity, i32(1)
    if position > 1.0:
        return 2.0 - position, -velocity, i32(1)
    return position, velocity, i32(0)


@lend.kernel
def move(particles: Mut[Particle, N], dt: f64, steps: i64):
    for _ in range(steps):
        for i in lend.grid(N):
            p = particles[i].position
            v = particles[i].velocity
            x, vx, in_x = bounce(p.x + dt * v.x, v.x)
            y, vy, in_y = bounce(p.y + dt * v.y, v.y)
            particles[i].position = Vector(x, y)
            particles[i].velocity = Vector(vx, vy)
            particles[i].bounces += in_x + in_y


@lend.kernel
def fastest(particles: Ref[Particle, N]) -> tuple[f64, i64]:
    best = (f64(-1.0), i64(-1))
    for i in lend.grid(N):
        v = particles[i].velocity
        best = max(best, (v.x * v.x + v.y * v.y, i))
    return best


def main() -> None:
    rng = np.random.default_rng(1)
    particles = np.zeros(10_000, Particle.dtype)
    for name in ("x", "y"):
        particles["position"][name] = rng.random(particles.size)
        particles["velocity"][name] = rng.normal(size=particles.size)
    speed = np.hypot(particles["velocity"]["x"], particles["velocity"]["y"])
    # a reflected path is a straight one, folded
    straight = particles["position"]["x"] + 100 * 0.01 * particles["velocity"]["x"]
    folded = 1.0 - np.abs(1.0 - straight % 2.0)

    move(particles, 0.01, 100)
    error = float(np.abs(particles["position"]["x"] - folded).max())
    assert error < 1e-9
    value, where = fastest(particles)
    assert where == int(speed.argmax()) and abs(value - float(speed.max()) ** 2) < 1e-9
    print(f"particles: {int(particles['bounces'].sum())} bounces, largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
