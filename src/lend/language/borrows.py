"""What users write in annotations: `Ref`, `Mut`, `Out`, `Atomic`, `comptime`, scalar types and type variables.

Does: make `Ref[f32, N]` a value at run time and a type for type checkers.  Does not: judge it (`annotations.py`).

For type checkers a scalar type is Python's own (`f32` is `float`, `i64` is `int`), so kernel bodies check as ordinary Python; a
borrow is a protocol that NumPy arrays satisfy, so calls check too. Element width and sizes are checked by lend, at the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, TypeVarTuple

from lend.diagnostics.records import dataclass
from lend.language import types
from lend.language.types import Borrow

IndexKind = Literal["index", "unique", "offsets"]
"""What an index type promises of an array's elements; see `signature.IndexFacts`."""

T = TypeVar("T", bound=Any)
U = TypeVar("U", bound=Any)


@dataclass(frozen=True)
class BorrowAnnotation:
    """`Ref[element, *sizes]` and its kin, as written; not yet judged."""

    borrow: Borrow
    element: Any
    sizes: tuple[Any, ...]

    def __repr__(self) -> str:
        from lend.language.annotations import annotation_text  # which knows this module

        return annotation_text(self)

    def __hash__(self) -> int:
        return hash((self.borrow, repr(self.element), len(self.sizes)))


@dataclass(frozen=True)
class IndexAnnotation:
    """`Index[bound]`, `Unique[bound]` or `Offsets[bound]`, perhaps with a storage type after it, as written; not yet judged."""

    kind: IndexKind
    parameters: tuple[Any, ...]

    def __repr__(self) -> str:
        from lend.language.annotations import annotation_text  # which knows this module

        return annotation_text(self)


@dataclass(frozen=True)
class ComptimeAnnotation:
    """`comptime[type]` as written."""

    type: Any


if TYPE_CHECKING:
    from typing import Annotated, Generic, TypeAlias

    E_co = TypeVar("E_co", covariant=True)
    E = TypeVar("E")
    Sizes = TypeVarTuple("Sizes")

    class Ref(Protocol[E_co, *Sizes]):
        """A shared borrow: read only."""

        @property
        def shape(self) -> tuple[Any, ...]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: Any, /) -> Any: ...

    class Mut(Protocol[E_co, *Sizes]):
        """An exclusive borrow: read and write."""

        @property
        def shape(self) -> tuple[Any, ...]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: Any, /) -> Any: ...
        def __setitem__(self, index: Any, value: Any, /) -> None: ...

    class Out(Protocol[E_co, *Sizes]):
        """An exclusive borrow whose every element the kernel writes."""

        @property
        def shape(self) -> tuple[Any, ...]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: Any, /) -> Any: ...
        def __setitem__(self, index: Any, value: Any, /) -> None: ...

    class Atomic(Protocol[E_co, *Sizes]):
        """A shared borrow that is changed by atomic operations only, such as `h[i] += 1` and `h.max(i, v)`.

        Of i32, i64, u32, u64, f32 or f64. Its operations are those of `lend.language.intrinsics.SharedArray`.
        """

        @property
        def shape(self) -> tuple[Any, ...]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: Any, /) -> Any: ...
        def __setitem__(self, index: Any, value: Any, /) -> None: ...
        def __getattribute__(self, name: str, /) -> Any: ...  # so that NumPy arrays, which lack the operations, can be lent

    class Index(int, Generic[*Sizes]):
        """`Index[D]`: an element in 0..D-1, tested when the array is lent."""

    class Unique(int, Generic[*Sizes]):
        """`Unique[D]`: an element in 0..D-1 that is in the array once, tested when the array is lent."""

    class Offsets(int, Generic[*Sizes]):
        """`Offsets[D]`: an element in 0..D, not less than the one before it, tested when the array is lent."""

    comptime: TypeAlias = Annotated[E, "comptime"]

    bool_: TypeAlias = bool
    i8: TypeAlias = int
    i16: TypeAlias = int
    i32: TypeAlias = int
    i64: TypeAlias = int
    u8: TypeAlias = int
    u16: TypeAlias = int
    u32: TypeAlias = int
    u64: TypeAlias = int
    f16: TypeAlias = float
    bf16: TypeAlias = float
    f32: TypeAlias = float
    f64: TypeAlias = float
    complex64: TypeAlias = complex
    complex128: TypeAlias = complex
else:

    class _BorrowName:
        borrow: Borrow

        def __init__(self, *_args):
            raise TypeError(f"{type(self).__name__} is for annotations: {type(self).__name__}[f32, N]")

        def __class_getitem__(cls, parameters):
            if not isinstance(parameters, tuple):
                parameters = (parameters,)
            return BorrowAnnotation(cls.borrow, parameters[0], parameters[1:])

    class Ref(_BorrowName):
        """A shared borrow: `Ref[f32, N]` is read only."""

        borrow = Borrow.REF

    class Mut(_BorrowName):
        """An exclusive borrow: `Mut[f32, N]` is read and written in place."""

        borrow = Borrow.MUT

    class Out(_BorrowName):
        """An exclusive borrow: `Out[f32, N]` is written whole."""

        borrow = Borrow.OUT

    class Atomic(_BorrowName):
        """A shared borrow: `Atomic[i32, N]` is changed by atomic operations only."""

        borrow = Borrow.ATOMIC

    class _IndexName:
        kind: IndexKind

        def __init__(self, *_args):
            name = type(self).__name__
            raise TypeError(f"{name} is for annotations: Ref[{name}[N], M]")

        def __class_getitem__(cls, parameters):
            return IndexAnnotation(cls.kind, parameters if isinstance(parameters, tuple) else (parameters,))

    class Index(_IndexName):
        """Elements in 0..D-1: `Ref[Index[D], M]`, or stored as another type: `Ref[Index[D, i32], M]`."""

        kind = "index"

    class Unique(_IndexName):
        """Elements in 0..D-1, no two of them equal: `Ref[Unique[D], M]`; `Ref[Unique[D], D]` is a permutation."""

        kind = "unique"

    class Offsets(_IndexName):
        """Elements in 0..D, none less than the one before it: `Ref[Offsets[D], M]`, as the row pointers of a CSR matrix."""

        kind = "offsets"

    class comptime:
        """A compile-time value: `comptime[int]`; the kernel is specialised for it."""

        def __class_getitem__(cls, type):
            return ComptimeAnnotation(type)

    bool_ = types.BOOL_
    i8, i16, i32, i64 = types.I8, types.I16, types.I32, types.I64
    u8, u16, u32, u64 = types.U8, types.U16, types.U32, types.U64
    f16, bf16, f32, f64 = types.F16, types.BF16, types.F32, types.F64
    complex64, complex128 = types.COMPLEX64, types.COMPLEX128
