"""From a call's arguments to a binding: one specialisation's key, its sizes, and the words that compiled code reads.

Does: match arguments to parameters by Python's rules, bind each by its kind, unify sizes, check borrows.
Does not: judge single arrays (`borrows.py`), convert scalars (`scalars.py`) or compare arrays (`aliasing.py`).
Invariants: nothing runs unless everything was admitted; `Binding.types` holds values that hash by identity, so that it can be the
key of a call; `leaves` and `words` follow the order of `language/abi.py`.

Example: `Binder(signature).bind((2.0, x, y), {}).types == (F32, array_type(F32, 1, REF, C), array_type(F32, 1, MUT, C))`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from lend.diagnostics.errors import ArgumentError
from lend.diagnostics.words import class_of_value, with_article
from lend.language.abi import MAX_SIZE
from lend.language.annotations import kind_text
from lend.language.dims import DimType, Size, SizeExpression, evaluate
from lend.language.dtypes import scalar_of
from lend.language.signature import (
    NO_DEFAULT,
    ArgumentType,
    ArrayKind,
    ComptimeKind,
    ComptimeValue,
    ParameterSpec,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.structs import struct_type
from lend.language.types import ArrayType, ElementType, ScalarType, StructType, VectorType, widens
from lend.language.vectors import Vec
from lend.runtime.aliasing import check_aliases
from lend.runtime.borrows import ArrayParameter, Lent, host_array
from lend.runtime.elements import AnyArray, is_array
from lend.runtime.scalars import convert, converter_of, strong_type, weak_type, words_of
from lend.runtime.sizes import resolve_sizes, too_large


class Binding:
    """The arguments of one call, admitted.

    types: one entry per parameter, the specialisation's key. typevars: what each type variable stands for. dims: the sizes in
    the signature's order. leaves: the flattened arguments (Python numbers and ndarrays; a record gives its fields, a comptime
    value nothing). words: the leaves as numbers, as `abi.py` stores them. given: the arguments as passed, one per parameter.
    lent: the arrays, in order, with their parameters and extents.
    """

    __slots__ = ("_binder", "_values", "dims", "given", "leaves", "lent", "sizes", "types", "typevars", "words")

    def __init__(self, binder: Binder, given: tuple[Any, ...]) -> None:
        self._binder = binder
        self._values: dict[str, Any] | None = None
        self.given = given
        self.types: tuple[ArgumentType, ...] = ()
        self.typevars: dict[TypeVar, ScalarType] = {}
        self.dims: tuple[int, ...] = ()
        self.sizes = list(binder.unknown_sizes)
        self.leaves: list[Any] = []
        self.words: list[Any] = []
        self.lent: list[Lent] = []

    @property
    def values(self) -> dict[str, Any]:
        """What contracts speak of: sizes (derived ones of the signature too), scalars, records and comptime values, by name."""
        if self._values is None:
            self._values = self._binder.values_of(self)
        return self._values


# ------------------------------------------------------------------------------------------------------ parameters


class _Scalar:
    """A scalar parameter of a fixed type."""

    def __init__(self, kernel: str, name: str, element: ScalarType) -> None:
        self.subject = f"{kernel}: {name}"
        self.element = element
        self.convert = converter_of(element)
        self.splits = element.kind == "complex" or element.name == "bf16"

    def bind(self, value: Any, call: Binding) -> ScalarType:
        value = self.convert(value, self.subject)
        call.leaves.append(value)
        if self.splits:
            call.words += words_of(self.element, value)
        else:
            call.words.append(value)
        return self.element


class _GenericScalar:
    """A scalar parameter annotated with a type variable."""

    def __init__(self, kernel: str, name: str, typevar: TypeVar) -> None:
        self.subject = f"{kernel}: {name}"
        self.typevar = typevar

    def bind(self, value: Any, call: Binding) -> ScalarType:
        element = call.typevars.get(self.typevar)
        if element is None:
            raise ArgumentError(f"{self.subject} must be a number, not {class_of_value(value)}")
        value = convert(element, value, self.subject)
        call.leaves.append(value)
        call.words += words_of(element, value)
        return element


class _Record:
    """A record by value: an instance of the struct class, or NumPy's own record of the same fields."""

    def __init__(self, kernel: str, name: str, struct: StructType) -> None:
        self.subject = f"{kernel}: {name}"
        self.struct = struct

    def bind(self, value: Any, call: Binding) -> StructType:
        _bind_record(self.struct, value, self.subject, call)
        return self.struct


def _bind_record(struct: StructType, value: Any, subject: str, call: Binding) -> None:
    if is_array(value) and value.ndim == 0:
        value = value[()]
    if isinstance(struct, VectorType):
        return _bind_vector(struct, value, subject, call)
    read: Callable[[str], Any]
    if struct.python_class is not None and isinstance(value, struct.python_class):
        read = value.__getattribute__
    elif isinstance(value, np.void) and value.dtype.names == tuple(name for name, _ in struct.fields):
        read = value.__getitem__
    else:
        fields = ", ".join(name for name, _ in struct.fields)
        given = class_of_value(value)
        raise ArgumentError(f"{subject} must be {with_article(struct.name)}, not {given}: pass {struct.name}({fields})")
    for name, member in struct.fields:
        inner = f"{subject}.{name}"
        if isinstance(member, StructType):
            _bind_record(member, read(name), inner, call)
        else:
            number = convert(member, read(name), inner)
            call.leaves.append(number)
            call.words += words_of(member, number)


def _bind_vector(vector: VectorType, value: Any, subject: str, call: Binding) -> None:
    """A vector: one of its class, or a tuple, list or row of as many numbers."""
    items, given = _items_of(value), struct_type(value.__class__)
    if isinstance(given, VectorType) and not widens(given.element, vector.element):
        items = ()
    elif items and len(items) != vector.length:
        raise ArgumentError(f"{subject} must be {with_article(vector.name)}, of {vector.length} items, not {len(items)}")
    if not items:
        raise ArgumentError(f"{subject} must be {with_article(vector.name)}, not {class_of_value(value)}: pass {_built(vector)}")
    for k, item in enumerate(items):
        number = convert(vector.element, item, f"{subject}[{k}]")
        call.leaves.append(number)
        call.words += words_of(vector.element, number)


def _items_of(value: Any) -> tuple[Any, ...]:
    row = is_array(value) and value.ndim == 1
    return tuple(value) if row or _is_sequence(value) else ()


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (tuple, list, Vec))


def _built(vector: VectorType) -> str:
    return f"{vector.name}({', '.join('xyzw'[k] if vector.length <= 4 else f'x{k}' for k in range(vector.length))})"


class _Tuple:
    """A tuple of borrows."""

    def __init__(self, kernel: str, name: str, kind: TupleKind, dims: tuple[DimType, ...]) -> None:
        self.subject = f"{kernel}: {name}"
        self.kernel, self.name, self.kind, self.dims = kernel, name, kind, dims
        self._members: list[ArrayParameter] = []
        self.writable = any(item.borrow.writable for item in kind.items)

    def members(self, count: int) -> list[ArrayParameter]:
        """The first `count` members as parameters of their own."""
        members = self._members
        if len(members) < count:
            members = list(members)  # a new list: other threads may be reading, or extending, the old one
            for position in range(len(members), count):
                kind = self.kind.items[0] if self.kind.variadic else self.kind.items[position]
                members.append(ArrayParameter(self.kernel, f"{self.name}[{position}]", kind, self.dims))
            self._members = members
        return members[:count]

    def bind(self, value: Any, call: Binding) -> tuple[ArrayType, ...]:
        if not isinstance(value, (tuple, list)):
            given = class_of_value(value)
            raise ArgumentError(f"{self.subject} must be {kind_text(self.kind)}, a tuple of arrays, not {given}")
        items: tuple[Any, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not self.kind.variadic and len(items) != len(self.kind.items):
            wanted = len(self.kind.items)
            raise ArgumentError(
                f"{self.subject} must be a tuple of {wanted} array{'' if wanted == 1 else 's'}, and {len(items)} were given"
            )
        return tuple(member.bind(item, call) for member, item in zip(self.members(len(items)), items, strict=True))


class _Comptime:
    """A compile-time value."""

    def __init__(self, kernel: str, name: str, kind: ComptimeKind) -> None:
        self.subject = f"{kernel}: {name}"
        self.kind = kind
        self.name = name

    def bind(self, value: Any, call: Binding) -> ComptimeValue:
        value = self._admit(value)
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(f"{self.subject} must be hashable to specialise the kernel, and {_typed(value)} is not") from None
        return ComptimeValue(_as_any(type(value)), value)

    def _admit(self, value: Any) -> Any:
        """`value` as the annotated type. Raises ArgumentError."""
        if isinstance(value, (np.bool_, np.integer, np.floating)):
            value = _as_any(value).item()
        wanted = self.kind.type
        if wanted is type:
            return self._element_type(value)
        if wanted is Any:
            return value
        if not isinstance(wanted, type) or wanted.__module__ == "collections.abc":  # Callable, in whichever spelling
            if callable(value) and not isinstance(value, (type, ScalarType)):
                return value
            raise ArgumentError(f"{self.subject} must be a function known when the kernel is compiled, not {_typed(value)}")
        if wanted is float and type(value) is int:
            return float(value)
        if isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool)):
            return wanted(value)  # a subclass such as IntEnum gives its plain value
        raise ArgumentError(f"{self.subject} must be {kind_text(self.kind)}, not {_typed(value)}")

    def _element_type(self, value: Any) -> Any:
        if isinstance(value, (ScalarType, StructType)):
            return value
        struct = struct_type(value)
        if struct is not None:
            return struct
        raise ArgumentError(f"{self.subject} must be an element type such as lend.f32, or a struct, not {_typed(value)}")


def _as_any(value: Any) -> Any:
    """`value`, of a type that a type checker does not follow into NumPy's own parameters."""
    return value


def _typed(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:  # a user's own __repr__
        text = ""
    return f"the {type(value).__name__} {text if len(text) <= 60 else ''}".rstrip()


_Parameter = _Scalar | _GenericScalar | _Record | _Tuple | _Comptime | ArrayParameter


# ---------------------------------------------------------------------------------------------------------- binder


class Binder:
    """Binds calls of one kernel."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.unknown_sizes = [-1] * len(signature.dims)
        self._parameters = [_parameter(signature, spec) for spec in signature.parameters]
        self._binds: list[Callable[[Any, Any], Any]] = [parameter.bind for parameter in self._parameters]
        self._resolve = _resolver(signature)
        self._positional = -1 if any(spec.keyword_only for spec in signature.parameters) else len(signature.parameters)
        self._generic = any(_typevars_of(spec) for spec in signature.parameters)
        self._writes = any(_writes(parameter) for parameter in self._parameters)
        self._derived = {
            size.__name__: size for size in _sizes_of(signature) if isinstance(size, DimType) and size.equals is not None
        }
        self._always_resolve = any(
            isinstance(size, (DimType, SizeExpression)) and size not in signature.dims for size in _sizes_of(signature)
        )

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Binding:
        """The binding of a call. Raises ArgumentError, ShapeError or BorrowError."""
        if kwargs or len(args) != self._positional:
            args = self.in_order(args, kwargs)
        call = Binding(self, args)
        if self._generic:
            self._find_typevars(args, call.typevars)
        call.types = tuple([bind(value, call) for bind, value in zip(self._binds, args)])  # noqa: B905 (equal lengths; fast)
        sizes = call.sizes
        if self._always_resolve or -1 in sizes:
            resolve_sizes(self.signature.kernel, self.signature.dims, sizes, call.lent)
        call.dims = tuple(sizes)
        if sizes and max(sizes) > MAX_SIZE:
            raise too_large(self.signature.kernel, self.signature.dims, sizes)
        if self._writes:
            check_aliases(call.lent)
        return call

    def in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """An argument for each parameter, defaults included. Raises ArgumentError."""
        try:
            return self._resolve(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(str(error)) from None

    def values_of(self, call: Binding) -> dict[str, Any]:
        """See `Binding.values`."""
        known = dict(zip(self.signature.dims, call.dims, strict=True))
        values: dict[str, Any] = {dim.__name__: size for dim, size in known.items()}
        values.update((name, evaluate(size, known)) for name, size in self._derived.items())
        leaves = iter(call.leaves)
        for spec, type in zip(self.signature.parameters, call.types, strict=True):
            if isinstance(type, ComptimeValue):
                values[spec.name] = type.value
            elif isinstance(type, ScalarType):
                values[spec.name] = next(leaves)
            elif isinstance(type, StructType):
                values[spec.name] = _record_value(type, leaves)
            else:
                for _ in type if isinstance(type, tuple) else (type,):
                    next(leaves)
        return values

    def _find_typevars(self, args: tuple[Any, ...], typevars: dict[TypeVar, ScalarType]) -> None:
        """What each type variable stands for: an array's elements, else a NumPy scalar's type, else a Python number's."""
        strong: dict[TypeVar, list[ScalarType]] = {}
        weak: dict[TypeVar, list[ScalarType]] = {}
        for parameter, value in zip(self._parameters, args, strict=True):
            if isinstance(parameter, _GenericScalar):
                own, python = strong_type(value), weak_type(value)
                if own is not None:
                    strong.setdefault(parameter.typevar, []).append(own)
                elif python is not None:
                    weak.setdefault(parameter.typevar, []).append(python)
            else:
                for member, array in _arrays_of(parameter, value):
                    element = scalar_of(array.dtype)
                    if member.typevar is not None and element is not None:
                        typevars.setdefault(member.typevar, element)
        for candidates in (strong, weak):
            for typevar, types in candidates.items():
                if typevar not in typevars:
                    widest = next((type for type in types if all(widens(other, type) for other in types)), None)
                    typevars[typevar] = widest or _weakest(types)


def _weakest(types: list[ScalarType]) -> ScalarType:
    """Of types none of which holds all the others: the last in the order bool, int, float, complex (the widest of equals)."""
    order = ("bool", "int", "uint", "float", "complex")
    return max(types, key=lambda type: (order.index(type.kind), type.bits))


def _parameter(signature: Signature, spec: ParameterSpec) -> _Parameter:
    kernel, name, kind = signature.kernel, spec.name, spec.kind
    if isinstance(kind, ArrayKind):
        return ArrayParameter(kernel, name, kind, signature.dims)
    if isinstance(kind, TupleKind):
        return _Tuple(kernel, name, kind, signature.dims)
    if isinstance(kind, ComptimeKind):
        return _Comptime(kernel, name, kind)
    element: ElementType | TypeVar = kind.element
    if isinstance(element, TypeVar):
        return _GenericScalar(kernel, name, element)
    return _Record(kernel, name, element) if isinstance(element, StructType) else _Scalar(kernel, name, element)


def _resolver(signature: Signature) -> Callable[..., tuple[Any, ...]]:
    """A Python function that gives the arguments in the parameters' order: so the rules, and their words, are Python's."""
    parts: list[str] = []
    for spec in signature.parameters:
        if spec.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(spec.name if spec.default is NO_DEFAULT else f"{spec.name}=None")
    names = "".join(f"{spec.name}," for spec in signature.parameters)
    namespace: dict[str, Any] = {}
    exec(f"def kernel({', '.join(parts)}):\n    return ({names})", namespace)
    function = namespace["kernel"]
    function.__name__ = function.__qualname__ = signature.kernel
    optional = [spec for spec in signature.parameters if spec.default is not NO_DEFAULT]
    function.__defaults__ = tuple(spec.default for spec in optional if not spec.keyword_only) or None
    function.__kwdefaults__ = {spec.name: spec.default for spec in optional if spec.keyword_only} or None
    return function


def _array_kinds(spec: ParameterSpec) -> tuple[ArrayKind, ...]:
    if isinstance(spec.kind, ArrayKind):
        return (spec.kind,)
    return spec.kind.items if isinstance(spec.kind, TupleKind) else ()


def _sizes_of(signature: Signature) -> list[Size]:
    return [size for spec in signature.parameters for kind in _array_kinds(spec) for size in kind.sizes]


def _typevars_of(spec: ParameterSpec) -> bool:
    if isinstance(spec.kind, ScalarKind):
        return isinstance(spec.kind.element, TypeVar)
    return any(isinstance(kind.element, TypeVar) for kind in _array_kinds(spec))


def _writes(parameter: _Parameter) -> bool:
    return isinstance(parameter, (ArrayParameter, _Tuple)) and parameter.writable


def _arrays_of(parameter: _Parameter, value: Any) -> list[tuple[ArrayParameter, AnyArray]]:
    """The arrays given for a parameter that are arrays at all, with their parameters."""
    if isinstance(parameter, ArrayParameter):
        array = value if is_array(value) else host_array(value)
        return [(parameter, array)] if array is not None else []
    if not isinstance(parameter, _Tuple) or not isinstance(value, (tuple, list)):
        return []
    items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    count = len(items) if parameter.kind.variadic else min(len(items), len(parameter.kind.items))
    arrays = [item if is_array(item) else host_array(item) for item in items]
    return [(member, array) for member, array in zip(parameter.members(count), arrays, strict=False) if array is not None]


def _record_value(struct: StructType, leaves: Any) -> Any:
    if isinstance(struct, VectorType):
        return tuple(next(leaves) for _ in struct.fields)
    values = {
        name: _record_value(member, leaves) if isinstance(member, StructType) else next(leaves) for name, member in struct.fields
    }
    return SimpleNamespace(**values)
