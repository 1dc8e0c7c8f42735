"""Small vectors: `Vec[f32, Literal[4]]` is a type of values and of array elements that kernels and NumPy share.

Does: make the class of each vector type, whose instances are vectors outside kernels.  Does not: judge annotations
(`annotations.py`) or pack values (`runtime/arguments.py`).
Invariants: one class per element type and length; items lie next to each other, as in NumPy's sub-arrays, so that an array of
vectors is an array of scalars with one dimension more.

Example:
    Point = Vec[f32, Literal[3]]
    points = np.zeros(8, Point.dtype)  # of shape (8, 3)
    origin = Point(0, 0, 0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np

from lend.diagnostics.records import dataclass
from lend.language.dtypes import numpy_dtype, scalar_of
from lend.language.types import ScalarType, VectorType

_OPERATORS: Any = operator  # whose functions have no types of their own

E = TypeVar("E")
Length = TypeVar("Length")

MAX_LENGTH = 16
"""Items that a vector has, at most."""


@dataclass(frozen=True)
class VectorAnnotation:
    """`Vec[…]` of what no vector is of, as written; `annotations.py` says why."""

    parameters: tuple[Any, ...]

    def __repr__(self) -> str:
        from lend.language.annotations import annotation_text  # which knows this module

        return annotation_text(self)


class Vec(Generic[E, Length]):
    """`Vec[f32, Literal[4]]`: a small vector by value, and what arrays of such vectors hold.

    `V(x, y, z, w)` builds one of its items, `V(x)` one of equal items, and `V(w)` casts another vector. `v[k]` reads an item, and
    in kernels `v[k] = x` replaces it. Operators work item by item, with another vector or with one number for all; `==` compares
    whole vectors.
    """

    dtype: ClassVar[np.dtype[Any]]
    __lend_struct__: ClassVar[VectorType]

    def __init__(self, *values: E | Vec[Any, Length]) -> None:
        """One value for each item, one for all, or a vector. Raises TypeError for another number of them."""
        type = self.__lend_struct__
        given: tuple[Any, ...] = values
        if len(given) == 1:
            given = items_of(given[0]) or given * type.length
        if len(given) != type.length:
            raise TypeError(f"{type.name} has {type.length} items, and {len(given)} values are given")
        self._items: tuple[E, ...] = tuple(type.element(value) for value in given)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters):
            given = parameters if isinstance(parameters, tuple) else (parameters,)
            length = length_of(given[1]) if len(given) == 2 else None
            if not isinstance(given[0], ScalarType) or length is None:
                return VectorAnnotation(given)
            return vector_class(given[0], length)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[E]:
        return iter(self._items)

    def __getitem__(self, index: int) -> E:
        return self._items[index]

    def __setitem__(self, index: int, value: E) -> None:
        """In kernels only, where `v` then is another vector. Raises TypeError."""
        raise TypeError(f"{self!r} does not change outside kernels: build another one")

    def __repr__(self) -> str:
        return f"{self.__lend_struct__.name}({', '.join(map(repr, self._items))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vec) and self._items == other._items  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]

    def __lt__(self, other: Any) -> bool:
        """For type checkers, since kernels have `min(v, w)`, item by item. Raises TypeError: vectors have no order."""
        raise TypeError(f"{self!r} and {other!r} have no order: compare items, or take np.minimum or np.maximum of them")

    def __hash__(self) -> int:
        return hash(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        type = self.__lend_struct__
        return _made, (type.element, type.length, self._items)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        return np.array(self._items, dtype if dtype is not None else numpy_dtype(self.__lend_struct__.element))

    def _with(self, function: Callable[[Any, Any], Any], other: Any, *, swapped: bool = False) -> Any:
        """An operator item by item, as NumPy has it for arrays of these types."""
        if not (items_of(other) or isinstance(other, int | float | complex | np.generic)):
            return NotImplemented
        mine, others = _operand(self), _operand(other)
        return _vector_of(function(others, mine) if swapped else function(mine, others))

    def __add__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.add, other)

    def __radd__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.add, other, swapped=True)

    def __sub__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.sub, other)

    def __rsub__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.sub, other, swapped=True)

    def __mul__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.mul, other)

    def __rmul__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.mul, other, swapped=True)

    def __truediv__(self, other: Vec[E, Length] | E) -> Vec[Any, Length]:
        return self._with(_OPERATORS.truediv, other)

    def __rtruediv__(self, other: E) -> Vec[Any, Length]:
        return self._with(_OPERATORS.truediv, other, swapped=True)

    def __floordiv__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.floordiv, other)

    def __rfloordiv__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.floordiv, other, swapped=True)

    def __mod__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.mod, other)

    def __rmod__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.mod, other, swapped=True)

    def __pow__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.pow, other)

    def __rpow__(self, other: E) -> Vec[E, Length]:
        return self._with(_OPERATORS.pow, other, swapped=True)

    def __and__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.and_, other)

    def __or__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.or_, other)

    def __xor__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.xor, other)

    def __lshift__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.lshift, other)

    def __rshift__(self, other: Vec[E, Length] | E) -> Vec[E, Length]:
        return self._with(_OPERATORS.rshift, other)

    def __neg__(self) -> Vec[E, Length]:
        return _vector_of(-np.asarray(self))

    def __pos__(self) -> Vec[E, Length]:
        return self

    def __invert__(self) -> Vec[E, Length]:
        return _vector_of(~np.asarray(self))

    def __abs__(self) -> Vec[Any, Length]:
        return _vector_of(np.abs(np.asarray(self)))


def items_of(value: Any) -> tuple[Any, ...]:
    """The items of a vector; nothing for anything else."""
    return tuple(value) if isinstance(value, Vec) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def length_of(parameter: Any) -> int | None:
    """The length that `Literal[4]` or a bare 4 says; None if it says none."""
    if get_origin(parameter) is Literal and len(get_args(parameter)) == 1:
        (parameter,) = get_args(parameter)
    fits = isinstance(parameter, int) and not isinstance(parameter, bool) and 1 <= parameter <= MAX_LENGTH
    return parameter if fits else None


@cache
def vector_class(element: ScalarType, length: int) -> type[Vec[Any, Any]]:
    """The class of vectors of `length` items."""
    name = f"Vec[{element.name}, {length}]"
    made: type[Vec[Any, Any]] = type(name, (Vec,), {"__doc__": f"Vectors of {length} items of type {element.name}."})
    made.__module__ = Vec.__module__
    type_ = VectorType(name, tuple((str(k), element) for k in range(length)), made)
    made.__lend_struct__ = type_
    setattr(made, "dtype", _Dtype())  # noqa: B010  # type checkers know it as what it gives
    return made


def vector_type(element: ScalarType, length: int) -> VectorType:
    """The type of vectors of `length` items."""
    return vector_class(element, length).__lend_struct__


class _Dtype:
    """`V.dtype`: of bf16 only where the package that knows it is installed."""

    def __get__(self, _instance: Any, owner: type[Vec[Any, Any]]) -> np.dtype[Any]:
        return numpy_dtype(owner.__lend_struct__)


def _made(element: ScalarType, length: int, items: tuple[Any, ...]) -> Any:
    return vector_class(element, length)(*items)


def _operand(value: Any) -> Any:
    return np.asarray(value) if items_of(value) else value


def _vector_of(array: Any) -> Any:
    element = scalar_of(array.dtype)
    assert element is not None
    return vector_class(element, len(array))(*array.tolist())
