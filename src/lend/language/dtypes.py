"""How lend's types, NumPy's and Python's correspond.

Does: give the dtype of an element type, and the scalar type of a dtype, of a NumPy class or of a Python class.
Does not: judge dtypes of arguments (`runtime/elements.py`).
Invariants: `scalar_of(numpy_dtype(s)) is s` for every scalar type; bf16 is any two-byte dtype called bfloat16, so that no package
is needed until one is met.

Example: `scalar_of(np.dtype("f4")) is F32`; `numpy_dtype(COMPLEX64) == np.dtype(np.complex64)`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from lend.language.types import BF16, BOOL_, COMPLEX128, F64, I64, SCALARS, ElementType, ScalarType, StructType, VectorType

_LETTERS = {"bool": "b", "int": "i", "uint": "u", "float": "f", "complex": "c"}
_BY_LETTER = {(_LETTERS[scalar.kind], scalar.bytes): scalar for scalar in SCALARS if scalar is not BF16}


def numpy_dtype(element: ElementType) -> np.dtype[Any]:
    """The NumPy dtype of an element type. `bf16` needs the package `ml_dtypes` (ImportError without it)."""
    if isinstance(element, VectorType):
        return np.dtype((numpy_dtype(element.element), (element.length,)))
    if isinstance(element, StructType):
        return np.dtype(
            {
                "names": [name for name, _ in element.fields],
                "formats": [numpy_dtype(member) for _, member in element.fields],
                "offsets": list(element.offsets),
                "itemsize": element.size,
            }
        )
    if element is BF16:
        return np.dtype(import_module("ml_dtypes").bfloat16)  # a package that few users need, nor all type checkers know
    if element is BOOL_:
        return np.dtype(np.bool_)
    return np.dtype(f"{_LETTERS[element.kind]}{element.bytes}")


def scalar_of(dtype: np.dtype[Any]) -> ScalarType | None:
    """The scalar type whose values `dtype` holds, in any byte order; None if there is none (dates, strings, records, f128)."""
    if dtype.name == "bfloat16" and dtype.itemsize == 2:
        return BF16
    return _BY_LETTER.get((dtype.kind, dtype.itemsize))


@cache
def _classes() -> dict[type, ScalarType]:
    known: dict[type, ScalarType] = {bool: BOOL_, int: I64, float: F64, complex: COMPLEX128}
    return known | {numpy_dtype(scalar).type: scalar for scalar in SCALARS if scalar is not BF16}


def scalar_of_class(cls: object) -> ScalarType | None:
    """The scalar type that one of Python's or NumPy's classes of numbers stands for; None for anything else."""
    return _classes().get(cls) if isinstance(cls, type) else None
