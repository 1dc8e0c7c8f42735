"""The words of the language: `grid`, `local`, `empty`, … as Python objects that the type checker knows by identity.

Does: name them, with types for editors.  Does not: implement them; outside a kernel most of them refuse to be called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, overload

from lend.diagnostics.errors import LendError
from lend.language.borrows import Mut, Ref
from lend.language.dims import Dim

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

Bound = int | type[Dim]
Extent = Bound | tuple[Bound, Bound] | tuple[Bound, Bound, Bound]


def _only_in_kernels(name: str) -> NoReturn:
    raise LendError(
        f"lend.{name} is a word of the kernel language: it can only stand inside a function decorated with @lend.kernel"
    )


if TYPE_CHECKING:

    @overload
    def grid(extent: Extent, /) -> Iterator[int]: ...
    @overload
    def grid(extent0: Extent, extent1: Extent, /) -> Iterator[tuple[int, int]]: ...
    @overload
    def grid(extent0: Extent, extent1: Extent, extent2: Extent, /) -> Iterator[tuple[int, int, int]]: ...
    @overload
    def grid(e0: Extent, e1: Extent, e2: Extent, e3: Extent, /) -> Iterator[tuple[int, int, int, int]]: ...
    @overload
    def grid(e0: Extent, e1: Extent, e2: Extent, e3: Extent, e4: Extent, /) -> Iterator[tuple[int, int, int, int, int]]: ...
    @overload
    def grid(
        e0: Extent, e1: Extent, e2: Extent, e3: Extent, e4: Extent, e5: Extent, /
    ) -> Iterator[tuple[int, int, int, int, int, int]]: ...


def grid(*extents: Any) -> Iterator[Any]:
    """A parallel loop over a box: one index per extent, each `n`, `(lower, upper)` or `(lower, upper, step)`.

    Iterations run in parallel, in no order. One to six extents.
    """
    _only_in_kernels("grid")


def static_range(*bounds: Bound) -> Iterator[int]:
    """Like `range` with compile-time bounds: the loop is unrolled and its index is a compile-time value."""
    _only_in_kernels("static_range")


def local(element: type[E], *sizes: int) -> Mut[E, *tuple[Any, ...]]:
    """A private array of compile-time sizes, for one iteration of a parallel loop."""
    _only_in_kernels("local")


def empty(element: type[E], *sizes: Bound) -> Mut[E, *tuple[Any, ...]]:
    """A temporary array at host level; every element must be written before it is read. May be returned."""
    _only_in_kernels("empty")


def zeros(element: type[E], *sizes: Bound) -> Mut[E, *tuple[Any, ...]]:
    """A temporary array of zeros at host level. May be returned."""
    _only_in_kernels("zeros")


def as_unique(indices: Ref[int, *tuple[Any, ...]], bound: Bound) -> Ref[int, *tuple[Any, ...]]:
    """The elements of a row of integers as a `Ref` of `Unique[bound]`, at host level: indices that the kernel has computed.

    As they are now, whatever is written to the array later. They are tested in parallel: BoundsError if one does not lie in
    0..bound-1, BorrowError if two are equal.
    """
    _only_in_kernels("as_unique")


def indices_differ(indices: Ref[int, *tuple[Any, ...]], bound: Bound) -> bool:
    """Whether the elements of a row of integers lie in 0..bound-1 and differ, at host level; for lend's own code."""
    _only_in_kernels("indices_differ")


def unchecked(reason: str) -> AbstractContextManager[None]:
    """`with lend.unchecked("reason"):` the subscripts written inside carry no check; every report lists the block."""
    _only_in_kernels("unchecked")


def cdiv(a: Bound, b: Bound) -> int:
    """The quotient of two integers rounded up. Works outside kernels too."""
    if TYPE_CHECKING:
        return 0
    return -(-a // b)


class DeviceFunction(Generic[P, R]):
    """A function for use inside kernels, made by `@lend.function`. Calling it outside runs it as plain Python."""

    def __init__(self, python: Callable[P, R]) -> None:
        self.python = python
        self.__name__ = getattr(python, "__name__", "function")
        self.__qualname__ = getattr(python, "__qualname__", self.__name__)
        self.__module__ = python.__module__
        self.__doc__ = python.__doc__
        self.__wrapped__ = python

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.python(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<lend.function {self.__qualname__}>"

    def __reduce__(self) -> str:
        return self.__qualname__


def function(python: Callable[P, R]) -> DeviceFunction[P, R]:
    """Mark a function for use inside kernels: generic over its argument types, arrays included, and inlined."""
    return DeviceFunction(python)
