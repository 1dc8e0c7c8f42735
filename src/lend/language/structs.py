"""Records: `@lend.struct` turns a class with annotated fields into a type that kernels and NumPy share.

Does: build the `StructType`, the NumPy dtype and the Python class.  Does not: pack values (`runtime/arguments.py`).
Invariants: fields are scalars, small vectors or other structs; the layout is C's, the same on every target.

Example:
    @lend.struct
    class Particle:
        x: f32
        v: f32
    particles = np.zeros(8, Particle.dtype)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin

import numpy as np

from lend.language.dtypes import numpy_dtype
from lend.language.python_annotations import raw_annotations
from lend.language.types import ElementType, ScalarType, StructType, VectorType

C = TypeVar("C")


def struct_type(cls: Any) -> StructType | None:
    """The `StructType` of a class made by `@lend.struct`, or None."""
    found = getattr(cls, "__lend_struct__", None) if isinstance(cls, type) else None
    return found if isinstance(found, StructType) else None


def field_value(value: Any, struct: StructType, position: int) -> Any:
    """A field of an instance of a struct's class, or an item of a vector."""
    return value[position] if isinstance(struct, VectorType) else getattr(value, struct.fields[position][0])


class _DtypeOf:
    """`P.dtype`, built at first use."""

    def __get__(self, _instance: Any, owner: type) -> np.dtype[Any]:
        found = struct_type(owner)
        assert found is not None
        return numpy_dtype(found)


@dataclass_transform()
def struct(cls: type[C]) -> type[C]:
    """Make a class with annotated fields a record type. Its instances are values: `P(x, y)`.

    `P.dtype` is the NumPy dtype of an array of them. Raises TypeError for a field that is not a lend scalar or struct.
    """
    module = sys.modules.get(cls.__module__)
    namespace = dict(vars(module)) if module is not None else {}
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # where the class stands: its annotations may be strings
    fields: list[tuple[str, ElementType]] = []
    for name, annotation in raw_annotations(cls).items():
        for _ in range(2):  # quoted where annotations are deferred too
            if not isinstance(annotation, str):
                break
            annotation = eval(annotation, {**namespace, **frame.f_globals}, dict(frame.f_locals))
        if get_origin(annotation) is ClassVar or annotation is ClassVar:
            continue
        member = struct_type(annotation) or annotation
        if not isinstance(member, ScalarType | StructType):
            raise TypeError(
                f"field {name} of {cls.__name__} has type {annotation!r}; a field is a scalar such as f32, a Vec or a struct"
            )
        fields.append((name, member))
    if not fields:
        raise TypeError(f"struct {cls.__name__} has no fields; write them as annotations: x: f32")
    made = dataclass(cls)
    attributes = {"__lend_struct__": StructType(cls.__name__, tuple(fields), made), "dtype": _DtypeOf()}
    for name, value in attributes.items():  # type checkers do not know them
        setattr(made, name, value)
    return made
