"""Dtypes of arguments.

Does: say why a dtype is not that of an element type, in words for messages.  Does not: look at arrays (`borrows.py`) or convert
values (`scalars.py`).
Invariants: a dtype is accepted only if every byte of an element means the same to NumPy and to the kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeGuard

import numpy as np

from lend.diagnostics.errors import ArgumentError
from lend.language.dtypes import numpy_dtype, scalar_of
from lend.language.types import BF16, BOOL_, ElementType, ScalarType, StructType, VectorType

AnyArray = np.ndarray[Any, np.dtype[Any]]
AnyDtype = np.dtype[Any]


@cache
def dtype_of(element: ElementType) -> AnyDtype:
    """NumPy's dtype of an element type. Raises ArgumentError for bf16 where no package offers it."""
    try:
        return numpy_dtype(element)
    except ImportError:
        raise ArgumentError("NumPy has no bf16 of its own: install the package ml_dtypes, whose bfloat16 lend accepts") from None


def is_array(value: Any) -> TypeGuard[AnyArray]:
    """Whether `value` is a NumPy array of any class."""
    return isinstance(value, np.ndarray)


def is_numpy_scalar(value: Any) -> bool:
    """Whether `value` is a single NumPy value, records included."""
    return isinstance(value, np.generic)


def numpy_name(element: ElementType) -> str:
    """How a user writes the dtype of `element`: `np.float32`, `P.dtype`."""
    if isinstance(element, StructType):
        return f"{element.name}.dtype"
    if element is BF16:
        return "ml_dtypes.bfloat16"
    return "np.bool_" if element is BOOL_ else f"np.{numpy_dtype(element).name}"


def mismatch(dtype: AnyDtype, element: ElementType) -> str | None:
    """Why `dtype` is not that of `element`, as words that follow "but "; None if it is."""
    if not is_native(dtype):
        return "has the other byte order"
    if isinstance(element, ScalarType):
        return None if scalar_of(dtype) is element else f"has dtype {_dtype_text(dtype)}"
    if isinstance(element, VectorType):
        return _vector_mismatch(dtype, element)
    return _record_mismatch(dtype, element)


def _vector_mismatch(dtype: AnyDtype, vector: VectorType) -> str | None:
    item, shape = (dtype.base, dtype.shape) if dtype.subdtype is not None else (dtype, ())
    fits = shape == (vector.length,) and scalar_of(item) is vector.element
    return None if fits else f"has dtype {_dtype_text(dtype)}"


def is_native(dtype: AnyDtype) -> bool:
    """Whether numbers of `dtype`, and of all its fields, have the machine's byte order."""
    if dtype.names is not None:
        return all(is_native(dtype[name]) for name in dtype.names)
    if dtype.subdtype is not None:
        return is_native(dtype.subdtype[0])
    return dtype.isnative


def _record_mismatch(dtype: AnyDtype, struct: StructType) -> str | None:
    if dtype.names is None:
        return f"has dtype {_dtype_text(dtype)}, which is not a record"
    names = tuple(name for name, _ in struct.fields)
    if dtype.names != names:
        return f"has fields {', '.join(dtype.names) or 'none'}, and {struct.name} has {', '.join(names)}"
    for name, member in struct.fields:
        inner = mismatch(dtype[name], member)
        if inner is not None:
            return f"field {name} {inner}, and in {struct.name} it is {member!r}"
    offsets = tuple(_field_offset(dtype, name) for name in names)
    if offsets != struct.offsets or dtype.itemsize != struct.size:
        return (
            f"lays its fields out at bytes {', '.join(map(str, offsets))} of {dtype.itemsize}, "
            f"and {struct.name} has them at {', '.join(map(str, struct.offsets))} of {struct.size}"
        )
    return None


def _field_offset(dtype: AnyDtype, name: str) -> int:
    fields: Any = dtype.fields
    return fields[name][1]


def _dtype_text(dtype: AnyDtype) -> str:
    return str(dtype) if dtype.names is None else f"record of {', '.join(dtype.names)}"
