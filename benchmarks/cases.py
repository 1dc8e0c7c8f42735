"""What a benchmark kernel is, and the list of all of them.

Does: describe a kernel apart from any language: its arguments for given extents, the sizes it is timed and tested at, what it
moves and computes. Does not: compute; the folder of its family has a file per language (`in_lend.py`, `in_numpy.py`,
`in_numba.py`, `in_taichi.py`, `in_warp.py`, `in_cpp.cpp`), in each of which the kernel has the name of its case.
Invariants: nothing here needs more than NumPy, so that every contender's interpreter can import it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

FAMILIES = ("stream", "maps", "reductions", "stencils", "dense", "filters", "bodies", "irregular")

Extents = tuple[int, ...]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Size:
    """Extents at which a kernel is timed. `without` names contenders that would take minutes."""

    label: str
    extents: Extents
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A kernel.

    `arguments(rng, *extents)`: arrays and scalars in the order in which every language takes them. `outputs`: positions of the
    arrays that it writes (and the result, where it returns one, is compared too). `cpp_sizes`: (position, axis) of the sizes
    that the C++ function takes after the arguments. `returns`: the element type of what C++ returns. `traffic` and `flops`: the
    bytes that must move between memory and processor, and the floating-point operations, of one call. `test_extents`: around the
    boundaries of vectors, blocks and chunks, small enough for plain Python; `chunked_extents`: large enough for several threads.
    """

    name: str
    bound: Literal["memory", "compute"]
    arguments: Callable[..., Arguments]
    outputs: tuple[int, ...]
    cpp_sizes: tuple[tuple[int, int], ...]
    sizes: tuple[Size, ...]
    traffic: Callable[..., int]
    flops: Callable[..., int]
    test_extents: tuple[Extents, ...]
    chunked_extents: tuple[Extents, ...]
    returns: Any = None
    rtol: float = 1e-11
    atol: float = 0.0
    share: float = 1.0  # of the elements that must agree
    family: str = ""

    def make(self, extents: Extents, empty: Callable[..., Any] | None = None) -> Arguments:
        """The arguments, the same in every process; arrays are copied into what `empty(shape, dtype)` gives."""
        given = self.arguments(np.random.default_rng(7), *extents)
        if empty is None:
            return given

        def placed(argument: Any) -> Any:
            if not isinstance(argument, np.ndarray):
                return argument
            array = empty(argument.shape, argument.dtype)
            array[...] = argument
            return array

        return tuple(placed(argument) for argument in given)

    def module(self, language: str) -> Any:
        """The family's module for a language (`lend`, `numpy`, …)."""
        return importlib.import_module(f"benchmarks.kernels.{self.family}.in_{language}")


def footprint(arguments: Arguments) -> int:
    """The bytes of all arrays."""
    return sum(argument.nbytes for argument in arguments if isinstance(argument, np.ndarray))


def cases() -> tuple[Case, ...]:
    """All kernels, in the order of the table."""
    from dataclasses import replace

    found: list[Case] = []
    for family in FAMILIES:
        module = importlib.import_module(f"benchmarks.kernels.{family}")
        found += [replace(case, family=family) for case in module.CASES]
    return tuple(found)


def uniform(rng: np.random.Generator, *shape: int, low: float = 0.1, high: float = 1.0, dtype: Any = np.float64) -> Any:
    """Random numbers far from zero, infinity and NaN."""
    return (low + (high - low) * rng.random(shape)).astype(dtype)


LENGTHS = (Size("32 K", (32_768,)), Size("16 M", (1 << 24,)))
TEST_LENGTHS = tuple((n,) for n in (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 257))
LONG_TEST_LENGTHS = tuple((n,) for n in (2047, 2048, 2049, 4097, 65_537, 200_003))
