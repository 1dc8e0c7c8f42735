"""`kernel.lower(f32, f32, f32)`: types in the place of arguments.

Does: find the argument types that types (or types and values) given to `lower`, `proofs` and `explain` mean.
Does not: bind values.
Invariants: an array that is given by its element type counts as row-major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from lend.diagnostics.errors import ArgumentError
from lend.language.annotations import AnnotationRefused, array_kind, kind_text
from lend.language.borrows import BorrowAnnotation
from lend.language.dtypes import scalar_of, scalar_of_class
from lend.language.signature import (
    ArgumentType,
    ArrayKind,
    ComptimeKind,
    ParameterSpec,
    ScalarKind,
    Signature,
    TupleKind,
    comptime_value,
)
from lend.language.structs import struct_type
from lend.language.types import ElementType, Layout, ScalarType, StructType, array_type
from lend.runtime.scalars import strong_type, weak_type


def given_types(
    signature: Signature, arguments: Sequence[Any]
) -> tuple[tuple[ArgumentType, ...], dict[TypeVar, ScalarType]] | None:
    """The types that `arguments` (one for each parameter) give; None where none of them is a type. Raises ArgumentError."""
    pairs = list(zip(signature.parameters, arguments, strict=True))
    if not any(_is_type(value) for spec, value in pairs if not isinstance(spec.kind, ComptimeKind)):
        return None
    finder = _Finder(signature.kernel)
    order = sorted(range(len(pairs)), key=lambda k: isinstance(pairs[k][0].kind, ScalarKind))  # numbers take what arrays decide
    found = {k: finder.argument(*pairs[k]) for k in order}
    return tuple(found[k] for k in range(len(pairs))), finder.typevars


def _is_type(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_type, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, BorrowAnnotation) or _element(value) is not None


def _element(value: Any) -> ElementType | None:
    """The element type that one of lend's, NumPy's or Python's types stands for."""
    if isinstance(value, ScalarType | StructType):
        return value
    if isinstance(value, np.dtype):
        return scalar_of(value)  # pyright: ignore[reportUnknownArgumentType]
    return struct_type(value) or scalar_of_class(value)


class _Finder:
    """Finds the types of the arguments of one call."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.typevars: dict[TypeVar, ScalarType] = {}

    def argument(self, spec: ParameterSpec, value: Any) -> ArgumentType:
        """The type of one parameter."""
        kind, name = spec.kind, spec.name
        match kind:
            case ScalarKind():
                declared = kind.element
                element = _element(value)
                if element is None:  # a value: of the type that it would become
                    known = self.typevars.get(declared) if isinstance(declared, TypeVar) else declared
                    element = known or strong_type(value) or weak_type(value)
                if element is None:
                    self.refuse(name, kind_text(kind), value)
                return self.settled(declared, element, name, kind_text(kind))
            case ArrayKind():
                return self.array(kind, name, value)
            case TupleKind():
                items: list[Any] = list(value) if isinstance(value, tuple | list) else []  # pyright: ignore[reportUnknownArgumentType]
                kinds = kind.items * len(items) if kind.variadic else kind.items
                if not items or len(kinds) != len(items):
                    self.refuse(name, kind_text(kind), value)
                return tuple(
                    self.array(each, f"{name}[{k}]", item) for k, (each, item) in enumerate(zip(kinds, items, strict=True))
                )
            case ComptimeKind():
                return comptime_value(value)

    def array(self, kind: ArrayKind, name: str, value: Any) -> Any:
        """The type of an array."""
        layout = Layout.C
        if isinstance(value, BorrowAnnotation):
            try:
                found = array_kind(value).element
            except AnnotationRefused as refused:
                raise ArgumentError(f"{self.kernel}: {name}: {refused.message}") from None
            element = None if isinstance(found, TypeVar) else found
        elif isinstance(value, np.ndarray):
            flags = value.flags
            layout = Layout.C if flags.c_contiguous else Layout.F if flags.f_contiguous else Layout.STRIDED
            own = kind.element if value.dtype.names is not None else scalar_of(value.dtype)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            element = None if isinstance(own, TypeVar) else own
        else:
            element = _element(value)
            element = kind.element if element is kind.vector is not None and not isinstance(kind.element, TypeVar) else element
        if element is None:
            self.refuse(name, kind_text(kind), value)
        return array_type(self.settled(kind.element, element, name, kind_text(kind)), len(kind.sizes), kind.borrow, layout)

    def settled(self, declared: ElementType | TypeVar, given: ElementType, name: str, wanted: str) -> Any:
        """What is declared, where that is what is given."""
        if isinstance(declared, TypeVar):
            if not isinstance(given, ScalarType):
                self.refuse(name, wanted, given)
            declared = self.typevars.setdefault(declared, given)
        if declared is not given:
            self.refuse(name, repr(declared) if wanted.isidentifier() else wanted, given)
        return given

    def refuse(self, name: str, wanted: str, given: Any) -> NoReturn:
        """An argument that does not fit."""
        shown = (
            repr(given)
            if isinstance(given, ScalarType | StructType)
            else getattr(given, "__name__", None) or type(given).__name__
        )
        raise ArgumentError(f"{self.kernel}: {name} is {wanted}, and {shown} was given for its type")
