"""The words of the language: `grid`, `local`, `empty`, … as Python objects that the type checker knows by identity.

Does: name them, with types for editors.  Does not: implement them; outside a kernel most of them refuse to be called,
and `empty` and `zeros` make arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, ParamSpec, TypeVar, overload

from lend.diagnostics.errors import LendError
from lend.language.borrows import Mut, Ref
from lend.language.dims import Dim

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

Bound = int | type[Dim]
Extent = Bound | tuple[Bound, Bound] | tuple[Bound, Bound, Bound]
MemoryOrder = Literal["relaxed", "acquire", "release", "acq_rel", "seq_cst"]


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


if TYPE_CHECKING:

    @overload
    def blocks(extent: Extent, /) -> Iterator[int]: ...
    @overload
    def blocks(extent0: Extent, extent1: Extent, /) -> Iterator[tuple[int, int]]: ...
    @overload
    def blocks(extent0: Extent, extent1: Extent, extent2: Extent, /) -> Iterator[tuple[int, int, int]]: ...
    @overload
    def threads(size: int, /) -> Iterator[int]: ...
    @overload
    def threads(size0: int, size1: int, /) -> Iterator[tuple[int, int]]: ...
    @overload
    def threads(size0: int, size1: int, size2: int, /) -> Iterator[tuple[int, int, int]]: ...


def blocks(*extents: Any) -> Iterator[Any]:
    """A loop over blocks of threads, in no order: one index per extent, as in `lend.grid`. One to three extents.

    What stands in it runs once for each block and stores nothing; `lend.threads` inside it is the work of the block's threads.
    """
    _only_in_kernels("blocks")


def threads(*sizes: int) -> Iterator[Any]:
    """The threads of a block, inside `lend.blocks`: one index per compile-time size. One to three sizes, at most 1024 threads.

    There is a barrier before and after it, and `lend.sync()` inside.
    """
    _only_in_kernels("threads")


def static_range(*bounds: Bound) -> Iterator[int]:
    """Like `range` with compile-time bounds: the loop is unrolled and its index is a compile-time value."""
    _only_in_kernels("static_range")


def local(element: type[E], *sizes: int) -> Mut[E, *tuple[Any, ...]]:
    """A private array of compile-time sizes, for one iteration of a parallel loop."""
    _only_in_kernels("local")


def shared(element: type[Any], *sizes: int) -> SharedArray:
    """An array of compile-time sizes that the threads of a block share, made inside `lend.blocks`. It holds nothing yet.

    Of `Atomic[i32]` it is changed by atomic operations, and holds zeros.
    """
    _only_in_kernels("shared")


def sync() -> None:
    """A barrier, inside `lend.threads`: no thread of the block goes on before all have come here.

    What they wrote before it, to shared arrays and others, is seen by all of them after it.
    """
    _only_in_kernels("sync")


def subgroup(size: int) -> Subgroup:
    """The groups of `size` neighbouring threads of a block, inside `lend.threads`: a power of two up to 64."""
    _only_in_kernels("subgroup")


class Subgroup:
    """A group of neighbouring threads, counted in row-major order; made by `lend.subgroup`. All its threads call together.

    A shuffle that names no lane of the group gives the thread's own value.
    """

    lane: int
    """The place of this thread in its group, an `i32`."""
    size: int
    """The number of threads in a group."""

    def __init__(self) -> None:
        _only_in_kernels("subgroup")

    def shuffle(self, value: E, lane: int) -> E:
        """The value that the thread of that lane gives."""
        _only_in_kernels("subgroup")

    def shuffle_xor(self, value: E, mask: int) -> E:
        """The value of the lane `lane ^ mask`."""
        _only_in_kernels("subgroup")

    def shuffle_up(self, value: E, distance: int) -> E:
        """The value of the lane that is `distance` lower."""
        _only_in_kernels("subgroup")

    def shuffle_down(self, value: E, distance: int) -> E:
        """The value of the lane that is `distance` higher."""
        _only_in_kernels("subgroup")

    def ballot(self, test: bool) -> int:
        """A `u64` with a bit for each lane whose test holds."""
        _only_in_kernels("subgroup")

    def sync(self) -> None:
        """A barrier for the threads of the group."""
        _only_in_kernels("subgroup")

    def _combine(self, value: E) -> E:
        _only_in_kernels("subgroup")

    reduce_add = reduce_mul = reduce_min = reduce_max = reduce_and = reduce_or = reduce_xor = _combine
    """The values of all lanes in one, the same for each lane; in the order of the tree that reductions have."""
    scan_add = scan_mul = scan_min = scan_max = scan_and = scan_or = scan_xor = _combine
    """The values of the lanes up to this one, itself included, from the left."""


class SharedArray:
    """What shared arrays offer, for editors. The operations are those of `Atomic` arrays; each gives the value before it.

    The place is an index, or a tuple of them. `order` is "relaxed", "acquire", "release", "acq_rel" or "seq_cst".
    """

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes."""
        _only_in_kernels("shared")

    def __len__(self) -> int:
        _only_in_kernels("shared")

    def __getitem__(self, place: Any, /) -> Any:
        _only_in_kernels("shared")

    def __setitem__(self, place: Any, value: Any, /) -> None:
        _only_in_kernels("shared")

    def _update(self, place: Any, value: Any, /, *, order: MemoryOrder = "relaxed") -> Any:
        _only_in_kernels("shared")

    add = sub = min = max = and_ = or_ = xor = exchange = _update

    def compare_exchange(self, place: Any, expected: Any, value: Any, /, *, order: MemoryOrder = "relaxed") -> Any:
        """Store `value` if the element is bitwise equal to `expected`."""
        _only_in_kernels("shared")

    def load(self, place: Any, /, *, order: MemoryOrder = "relaxed") -> Any:
        """The element."""
        _only_in_kernels("shared")

    def store(self, place: Any, value: Any, /, *, order: MemoryOrder = "relaxed") -> None:
        """Set the element."""
        _only_in_kernels("shared")


Shape = int | tuple[int, ...]

if TYPE_CHECKING:

    @overload
    def empty(element: type[E], /, *sizes: Bound) -> Mut[E, *tuple[Any, ...]]: ...
    @overload
    def empty(shape: Shape, dtype: Any = None, device: str | None = None) -> Any: ...


def empty(shape: Any, dtype: Any = None, device: Any = None, *sizes: Any) -> Any:
    """In a kernel `lend.empty(f64, n, m)`: a temporary array at host level; every element must be written before it is read. It
    may be returned.

    Outside kernels `lend.empty((n, m), f64, "opencl:0")`: a new `lend.Array` on a device, on that of `lend.config.device` if none
    is named; on the processor a NumPy array. The type is one of lend's or NumPy's, f64 if there is none. Raises ArgumentError.
    """
    return _made("empty", shape, dtype, device, sizes)


if TYPE_CHECKING:

    @overload
    def zeros(element: type[E], /, *sizes: Bound) -> Mut[E, *tuple[Any, ...]]: ...
    @overload
    def zeros(shape: Shape, dtype: Any = None, device: str | None = None) -> Any: ...


def zeros(shape: Any, dtype: Any = None, device: Any = None, *sizes: Any) -> Any:
    """In a kernel `lend.zeros(f64, n, m)`: a temporary array of zeros at host level. It may be returned.

    Outside kernels `lend.zeros((n, m), f64, "opencl:0")`: as `lend.empty`, filled with zeros.
    """
    return _made("zeros", shape, dtype, device, sizes)


class Outside:
    """What makes an array outside kernels, zeroed or not, of a shape and a type, on a device. `lend/__init__.py` gives it: the
    language knows nothing of the driver."""

    make: Callable[[bool, Any, Any, str | None], Any]


def _made(word: str, shape: Any, dtype: Any, device: Any, sizes: tuple[Any, ...]) -> Any:
    """An array outside kernels."""
    if sizes or not (device is None or isinstance(device, str)):
        _only_in_kernels(f"{word}(element, sizes)")
    return Outside.make(word == "zeros", shape, dtype, device)


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


def bitcast(value: Any, element: type[E]) -> E:
    """The bits of a number as a number of another type of the same width: `lend.bitcast(x, u64)` of an `f64`."""
    _only_in_kernels("bitcast")


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
