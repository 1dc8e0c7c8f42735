"""What is measured: each case's arguments at each size, and the contenders bound to them."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import kernels, native, with_numpy

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A kernel by the name it has in every module. `sizes`: (label, number) pairs, small enough for the caches first.

    `arguments(number)` makes the arguments, `outputs` are the positions of those that the kernel writes (none: it returns its
    result), `native` turns the arguments into those of the C function.
    """

    name: str
    sizes: tuple[tuple[str, int], ...]
    arguments: Callable[[int], Arguments]
    outputs: tuple[int, ...]
    native: Callable[[Arguments], Arguments]
    tolerance: float = 1e-4
    exact_fraction: float = 1.0

    def contenders(self, arguments: Arguments, libraries: dict[str, ctypes.CDLL], *, numba: bool) -> dict[str, Callable[[], Any]]:
        """Each contender's call, on the same arguments; lend first."""
        calls: dict[str, Callable[[], Any]] = {"lend": partial(getattr(kernels, self.name), *arguments)}
        unchecked = getattr(kernels, f"{self.name}_unchecked", None)
        if unchecked is not None:
            calls["unchecked"] = partial(unchecked, *arguments)
        calls["NumPy"] = partial(getattr(with_numpy, self.name), *arguments)
        returns = None if self.outputs else ctypes.c_float
        for family, library in libraries.items():
            calls[family] = native.bind(library, self.name, *self.native(arguments), returns=returns)
        if numba:
            calls["Numba"] = partial(getattr(importlib.import_module("benchmarks.with_numba"), self.name), *arguments)
        return calls

    def disagreeing(self, calls: dict[str, Callable[[], Any]], arguments: Arguments) -> list[str]:
        """The contenders whose result is not NumPy's."""
        start = [argument.copy() if position in self.outputs else None for position, argument in enumerate(arguments)]

        def result(run: Callable[[], Any]) -> list[Any]:
            for position in self.outputs:
                arguments[position][...] = start[position]
            returned = run()
            return [arguments[position].copy() for position in self.outputs] or [returned]

        expected = result(calls["NumPy"])
        wrong: list[str] = []
        for name, run in calls.items():
            close = [
                np.isclose(a, b, rtol=self.tolerance, atol=self.tolerance) for a, b in zip(result(run), expected, strict=True)
            ]
            if min(float(np.mean(part)) for part in close) < self.exact_fraction:
                wrong.append(name)
        return wrong


def random(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Numbers from 0 to 1, the same in every run."""
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def with_sizes_of(position: int) -> Callable[[Arguments], Arguments]:
    """The C arguments: all of ours, then the sizes of the array at `position`."""
    return lambda arguments: (*arguments, *arguments[position].shape)


def nbody_arguments(n: int) -> Arguments:
    """Positions in a cube, and room for the accelerations."""
    x, y, z = random(3, n)
    return (x.copy(), y.copy(), z.copy(), *(np.zeros(n, np.float32) for _ in range(3)))


LENGTHS = (("32 K", 32_768), ("16 M", 1 << 24))
SIDES = (("256²", 256), ("4096²", 4096))

CASES = (
    Case("saxpy", LENGTHS, lambda n: (np.float32(1e-6), random(n), random(n)), (2,), with_sizes_of(1)),
    Case("stencil", SIDES, lambda n: (random(n, n), np.zeros((n, n), np.float32)), (1,), with_sizes_of(0)),
    Case("total", LENGTHS, lambda n: (random(n),), (), with_sizes_of(0), tolerance=1e-3),
    Case(
        "mandelbrot",
        (("512²", 512),),
        lambda n: (np.zeros((n, n), np.int32), np.int32(200)),
        (0,),
        with_sizes_of(0),
        exact_fraction=0.999,  # points on the rim of the set tip over with one rounding
    ),
    Case(
        "bilateral",
        (("512²", 512),),
        lambda n: (random(n, n), np.zeros((n, n), np.float32), np.float32(1.5), np.float32(0.2)),
        (1,),
        with_sizes_of(0),
    ),
    Case("nbody", (("2048", 2048),), nbody_arguments, (3, 4, 5), with_sizes_of(0), tolerance=1e-2),
)
