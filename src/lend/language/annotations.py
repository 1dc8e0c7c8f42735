"""From annotation objects to a parameter's kind.

Does: judge one annotation at a time, with words for what is wrong.  Does not: evaluate strings or know spans.
Invariants: `parameter_kind` returns a kind or raises `AnnotationRefused` with one sentence and at most one fix.
"""

from __future__ import annotations

import operator
import re
import types as python_types
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, TypeVar, get_args, get_origin

import numpy as np

from lend.language.borrows import BorrowAnnotation, ComptimeAnnotation, Index, IndexAnnotation, IndexKind, Offsets, Unique
from lend.language.dims import Dim, DimType, Size, SizeExpression, size_text
from lend.language.dtypes import scalar_of_class
from lend.language.intrinsics import DeviceFunction
from lend.language.signature import ArrayKind, ComptimeKind, IndexFacts, ParameterKind, ScalarKind, TupleKind
from lend.language.structs import struct_type
from lend.language.types import ATOMIC_ELEMENTS, BF16, I64, SCALARS, Borrow, ElementType, ScalarType, StructType, VectorType
from lend.language.vectors import MAX_LENGTH, Vec, VectorAnnotation

MAX_DIMENSIONS = 6
INDEX_NAMES: dict[IndexKind, str] = {"index": "Index", "unique": "Unique", "offsets": "Offsets"}


class AnnotationRefused(Exception):
    """An annotation that lend does not take: one sentence, and what to write instead."""

    def __init__(self, message: str, fix: str | None = None, code: str = "L0503") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.code = code


def parameter_kind(annotation: Any) -> ParameterKind:
    """The kind of parameter that `annotation` declares. Raises AnnotationRefused."""
    if isinstance(annotation, BorrowAnnotation):
        return array_kind(annotation)
    if isinstance(annotation, ComptimeAnnotation):
        return comptime_kind(annotation)
    if get_origin(annotation) is tuple:
        return tuple_kind(get_args(annotation))
    return ScalarKind(element_type(annotation, "a parameter"))


def element_type(annotation: Any, what: str) -> ElementType | TypeVar:
    """A scalar type, a struct or a type variable. Raises AnnotationRefused."""
    if isinstance(annotation, ScalarType | TypeVar):
        return annotation
    found = struct_type(annotation)
    if found is not None:
        return found
    text = annotation_text(annotation)
    if isinstance(annotation, IndexAnnotation):
        raise AnnotationRefused(
            f"`{text}` is a type of array elements, not of {what}",
            "write `i64`, and say the rest as a contract, such as `assert 0 <= k < N`",
            "L0506",
        )
    if isinstance(annotation, VectorAnnotation) or annotation is Vec:
        raise AnnotationRefused(*vector_advice(annotation))
    if any(annotation is name for name in (Index, Unique, Offsets)):
        raise AnnotationRefused(f"`{text}` does not say where its values lie", f"write `{text}[N]`: they lie below `N`")
    known = scalar_of_class(annotation)
    if known is not None:
        what_it_is = "is a type of NumPy, not of kernels" if text.startswith("np.") else "does not say its width"
        raise AnnotationRefused(f"`{text}` {what_it_is}", f"write `{known}`, after `from lend import {known}`")
    if getattr(annotation, "borrow", None) is not None and isinstance(annotation, type):
        name = annotation.__name__
        raise AnnotationRefused(f"`{name}` needs an element type and sizes", f"write `{name}[f32, N]`")
    if annotation is np.ndarray or get_origin(annotation) is np.ndarray:
        raise AnnotationRefused(
            "an array is borrowed: say how, and its sizes", "write `Ref[f32, N]` to read it or `Mut[f32, N]` to change it"
        )
    if isinstance(annotation, DimType):
        raise AnnotationRefused(
            f"`{text}` is a size, not a type",
            "write `i64` for a number, `comptime[int]` for one known when the kernel is compiled",
        )
    raise AnnotationRefused(f"`{text}` is not a type of {what}", _advice(annotation, what))


def vector_advice(annotation: Any) -> tuple[str, str]:
    """Why `Vec[…]` is no type of vectors, and what to write."""
    text = annotation_text(annotation)
    if not isinstance(annotation, VectorAnnotation) or len(annotation.parameters) != 2:
        return f"`{text}` is not one element type and a length", "write `Vec[f32, Literal[4]]`"
    element, length = annotation.parameters
    if isinstance(element, TypeVar):
        return f"`{text}`: the element type of a vector is a scalar type, not a type variable", "write `Vec[f32, Literal[4]]`"
    if not isinstance(element, ScalarType):
        return f"`{text}`: a vector has items of a scalar type, not `{_part_text(element)}`", "write `Vec[f32, Literal[4]]`"
    return (
        f"`{text}`: the length of a vector is a number from 1 to {MAX_LENGTH}, not `{_part_text(length)}`",
        f"write `Vec[{element}, Literal[4]]`, or `Ref[{element}, N, M]` for rows of any length",
    )


def _advice(annotation: Any, what: str) -> str:
    """What to write instead of a type that kernels do not know."""
    origin = get_origin(annotation) or annotation
    if origin in (list, tuple):
        return "write `Ref[f64, N]` for an array, `tuple[Ref[f64, N], ...]` for several"
    if origin in (str, type, Callable):
        return f"write `comptime[{annotation_text(annotation)}]`: it must be known when the kernel is compiled"
    names = ", ".join(f"`{scalar.name}`" for scalar in SCALARS)
    arrays = "" if what == "an array element" else "; for an array `Ref[f64, N]` or `Mut[f64, N]`"
    return f"write one of {names}, or a `@lend.struct`{arrays}"


def array_kind(annotation: BorrowAnnotation) -> ArrayKind:
    """The kind of `Ref[…]`, `Mut[…]` or `Out[…]`. Raises AnnotationRefused."""
    name = annotation.borrow.value
    facts, element = None, annotation.element
    if isinstance(element, IndexAnnotation):
        element, facts = index_type(element)
    element = element_type(element, "an array element")
    vector = element if isinstance(element, VectorType) else None
    if not annotation.sizes:
        raise AnnotationRefused(
            f"`{annotation_text(annotation)}` has no sizes",
            f"write `{name}[{element_text(annotation.element)}, N]`, one size for each dimension",
        )
    most = MAX_DIMENSIONS if vector is None else MAX_DIMENSIONS - 1
    if len(annotation.sizes) > most:
        raise AnnotationRefused(
            f"an array{'' if vector is None else ' of vectors'} has at most {most} dimensions, not {len(annotation.sizes)}",
            "merge some of them with `reshape` before the call",
        )
    if annotation.borrow is Borrow.ATOMIC and isinstance(element, ScalarType | StructType) and element not in ATOMIC_ELEMENTS:
        raise AnnotationRefused(
            f"`{annotation_text(annotation)}`: there are no atomic operations on `{element.name}`",
            "write `Atomic` of i32, i64, u32, u64, f32 or f64",
            "L0418",
        )
    sizes = tuple(size_of_annotation(size) for size in annotation.sizes)
    if vector is not None:
        element, sizes = vector.element, (*sizes, vector.length)
    kind = ArrayKind(annotation.borrow, element, sizes, facts, vector)
    check_facts(kind)
    return kind


def index_type(annotation: IndexAnnotation) -> tuple[ScalarType, IndexFacts]:
    """How an index type is stored, and what it says of the elements. Raises AnnotationRefused."""
    text = annotation_text(annotation)
    if len(annotation.parameters) not in (1, 2):
        name = INDEX_NAMES[annotation.kind]
        raise AnnotationRefused(
            f"`{text}` is not one bound and a storage type", f"write `{name}[N]`, or `{name}[N, i32]` for other than `i64`"
        )
    bound, *rest = annotation.parameters
    storage = rest[0] if rest else I64
    if not isinstance(storage, ScalarType) or not storage.is_integer:
        widths = ", ".join(f"`{scalar}`" for scalar in SCALARS if scalar.is_integer)
        raise AnnotationRefused(f"`{text}` is not stored as an integer type", f"the storage type is one of {widths}")
    return storage, IndexFacts(annotation.kind, size_of_annotation(bound))


def check_facts(kind: ArrayKind) -> None:
    """Raise AnnotationRefused where an index type cannot stand."""
    if kind.facts is None:
        return
    if kind.borrow is not Borrow.REF:
        written = replace(kind, borrow=Borrow.REF)
        raise AnnotationRefused(
            f"`{kind_text(kind)}` would let the kernel change indices that are tested at the call only",
            f"write `{kind_text(replace(kind, facts=None))}` to write them, `{kind_text(written)}` to read them",
            "L0506",
        )
    if kind.facts.kind == "offsets" and len(kind.sizes) != 1:
        raise AnnotationRefused(
            f"`Offsets` are a row, and `{kind_text(kind)}` has {len(kind.sizes)} dimensions",
            f"write `{kind_text(replace(kind, sizes=kind.sizes[:1]))}`",
            "L0506",
        )


def size_of_annotation(size: Any) -> Size:
    """A size name, an expression of them, or a fixed non-negative number. Raises AnnotationRefused."""
    if size is Dim:
        raise AnnotationRefused("`lend.Dim` is the base of size names, not a size", "write `class N(lend.Dim): ...` and use `N`")
    if isinstance(size, DimType | SizeExpression):
        return size
    if get_origin(size) is Literal:
        (size, *more) = get_args(size)
        if more:
            raise AnnotationRefused("a size is one number", "write `Literal[3]`")
    if isinstance(size, bool) or not isinstance(size, Integral):
        raise AnnotationRefused(
            f"`{annotation_text(size)}` is not a size",
            "write a size name, after `from lend.dims import N`, or `Literal[3]` for a fixed size",
        )
    number = operator.index(size)
    if number < 0:
        raise AnnotationRefused(f"the size `{number}` is negative")
    return number


def comptime_kind(annotation: ComptimeAnnotation) -> ComptimeKind:
    """The kind of `comptime[…]`. Raises AnnotationRefused."""
    type_ = annotation.type
    if type_ in (int, bool, float, str, type, Any) or type_ is Callable or get_origin(type_) is type:
        return ComptimeKind(type if get_origin(type_) is type else type_)
    if get_origin(type_) is get_origin(Callable[[], None]) or type_ is python_types.FunctionType:
        return ComptimeKind(Callable)
    if isinstance(type_, type) and issubclass(type_, DeviceFunction):
        return ComptimeKind(Callable)
    raise AnnotationRefused(
        f"`comptime[{annotation_text(type_)}]` is not a kind of compile-time value",
        "write `comptime` of `int`, `bool`, `float`, `str`, `type` (an element type) or `Callable` (a function)",
    )


def tuple_kind(items: tuple[Any, ...]) -> TupleKind:
    """The kind of `tuple[Ref[…], …]`. Raises AnnotationRefused."""
    variadic = len(items) == 2 and items[1] is Ellipsis
    members = items[:1] if variadic else items
    kinds: list[ArrayKind] = []
    for member in members:
        if not isinstance(member, BorrowAnnotation):
            raise AnnotationRefused(
                f"a tuple parameter holds borrows, not `{annotation_text(member)}`", "write `tuple[Ref[f64, N], ...]`"
            )
        kinds.append(array_kind(member))
    if not kinds:
        raise AnnotationRefused("an empty tuple parameter", "write `tuple[Ref[f64, N], ...]`")
    return TupleKind(tuple(kinds), variadic)


def element_text(element: Any) -> str:
    """An element type as the user writes it."""
    if isinstance(element, TypeVar):
        return element.__name__
    if isinstance(element, type):
        return annotation_text(element)
    return annotation_text(element) if isinstance(element, IndexAnnotation | VectorAnnotation) else repr(element)


def annotation_text(annotation: Any) -> str:
    """An annotation as the user writes it, near enough for a message."""
    if isinstance(annotation, BorrowAnnotation):
        return f"{annotation.borrow.value}[{', '.join([element_text(annotation.element), *map(_part_text, annotation.sizes)])}]"
    if isinstance(annotation, IndexAnnotation):
        return f"{INDEX_NAMES[annotation.kind]}[{', '.join(map(_part_text, annotation.parameters))}]"
    if isinstance(annotation, ComptimeAnnotation):
        return f"comptime[{annotation_text(annotation.type)}]"
    if isinstance(annotation, VectorAnnotation):
        return f"Vec[{', '.join(map(_part_text, annotation.parameters))}]"
    if isinstance(annotation, type):
        module = annotation.__module__
        short = {"numpy": "np.", "builtins": ""}.get(module, "")
        return f"{short}{annotation.__name__}"
    if annotation is BF16:
        return "bf16"
    name = getattr(annotation, "__name__", None)
    if callable(annotation) and isinstance(name, str):
        return name
    text = re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", repr(annotation))  # without modules
    return text if " at 0x" not in text else type(annotation).__name__


def _part_text(part: Any) -> str:
    """A size, or what was written in its place."""
    if get_origin(part) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(part)))}]"
    if isinstance(part, TypeVar):
        return part.__name__
    return size_text(part) if isinstance(part, DimType | SizeExpression | int) else annotation_text(part)


def kind_text(kind: ParameterKind) -> str:
    """A parameter's kind as the user writes it."""
    if isinstance(kind, ScalarKind):
        return element_text(kind.element)
    if isinstance(kind, ArrayKind):
        element = element_text(kind.element) if kind.facts is None else facts_text(kind.facts, kind.element)
        if kind.vector is not None:
            return f"{kind.borrow.value}[{', '.join([kind.vector.name, *map(size_text, kind.sizes[:-1])])}]"
        return f"{kind.borrow.value}[{', '.join([element, *map(size_text, kind.sizes)])}]"
    if isinstance(kind, TupleKind):
        items = ", ".join(map(kind_text, kind.items))
        return f"tuple[{items}, ...]" if kind.variadic else f"tuple[{items}]"
    return f"comptime[{annotation_text(kind.type)}]"


def facts_text(facts: IndexFacts, storage: Any) -> str:
    """An index type as the user writes it."""
    parts = [size_text(facts.bound), *([] if storage is I64 else [element_text(storage)])]
    return f"{INDEX_NAMES[facts.kind]}[{', '.join(parts)}]"
