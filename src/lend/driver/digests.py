"""What decides a kernel's code, as plain data that is the same in every process: functions, types, captured values.

Does: describe values by tuples of numbers and texts, whose `repr` is hashed.  Does not: read or write files.
Invariants: two values with one description are the same to the compiler; what cannot be described so raises `Unkeepable`, and
then nothing is kept on disk. Size names and type variables are numbered as they appear, so that one `Digester` describes all of a
kernel.
"""

from __future__ import annotations

import sys
import types
from typing import Any, NoReturn, TypeVar, get_args, get_origin

import numpy as np

from lend.diagnostics.errors import LendError
from lend.frontend.capture import Captured, outline
from lend.frontend.signature import evaluate
from lend.language.annotations import AnnotationRefused, parameter_kind
from lend.language.dims import DimType, Size, SizeExpression
from lend.language.intrinsics import DeviceFunction
from lend.language.python_annotations import raw_annotations
from lend.language.signature import (
    NO_DEFAULT,
    ArgumentType,
    ArrayKind,
    ComptimeKind,
    ComptimeValue,
    ParameterKind,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.structs import field_value, struct_type
from lend.language.types import ArrayType, ScalarType, StructType

Description = Any
"""Nested tuples of numbers, texts, bytes and None."""

_PLAIN = (bool, int, float, complex, str, bytes)
_KNOWN_PACKAGES = frozenset(("numpy", *sys.stdlib_module_names))
_DEEPEST = 20


class Unkeepable(Exception):
    """Something that another process cannot recognise."""


def python_function(value: Any) -> types.FunctionType | None:
    """The Python function of a device function or a kernel, or the value itself if it is one; None for anything else."""
    if isinstance(value, DeviceFunction) or getattr(value, "__lend_kernel__", False):
        value = value.__wrapped__
    return value if isinstance(value, types.FunctionType) else None


def is_own(module: str | None) -> bool:
    """Whether a module is a part of lend: its files are part of every key."""
    return module is not None and (module == "lend" or module.startswith("lend."))


class Digester:
    """Describes the parts of one kernel."""

    def __init__(self) -> None:
        self._dims: dict[DimType, int] = {}
        self._typevars: dict[TypeVar, int] = {}

    # --------------------------------------------------------------------------------------------------------- functions

    def kernel(self, captured: Captured, signature: Signature, math: str, require: str | None) -> Description:
        """A kernel as it is defined."""
        names = [spec.name for spec in signature.parameters]
        parameters = [
            (spec.name, self.kind(spec.kind), self._default(spec.default), spec.keyword_only) for spec in signature.parameters
        ]
        dims = [self.size(dim) for dim in signature.dims]
        returns = self._annotation(captured, "return", raw_annotations(captured.function))
        return ("kernel", self._text(captured), captured.name, names, parameters, dims, returns, math, require)

    def function(self, function: types.FunctionType) -> Description:
        """A function that stands in place where it is called. What it reads is described apart."""
        if is_own(function.__module__):
            return ("own", function.__module__, function.__qualname__)
        try:
            captured = outline(function)
        except LendError:
            raise Unkeepable from None
        raw = raw_annotations(function)
        annotations = [(name, self._annotation(captured, name, raw)) for name in raw]
        defaults = [(name, self.value(value, 1)) for name, value in captured.defaults.items()]
        return ("function", self._text(captured), captured.name, annotations, defaults)

    def _text(self, captured: Captured) -> Description:
        found = captured.excerpt
        if not found.text:
            raise Unkeepable
        return (captured.qualname, found.text, found.code)

    def _annotation(self, captured: Captured, name: str, raw: dict[str, Any]) -> Description:
        """An annotation of a function, as far as it says something."""
        if name not in raw:
            return None
        annotation = raw[name]
        if isinstance(annotation, str):
            try:
                annotation = evaluate(captured, annotation)
            except Exception:  # whatever the user's expression raises: it says nothing then
                return "unknown"
        return self._judged(annotation)

    def _judged(self, annotation: Any) -> Description:
        if annotation is None:
            return "nothing"
        if get_origin(annotation) is tuple:
            return ("tuple", *(self._judged(part) for part in get_args(annotation)))
        try:
            return self.kind(parameter_kind(annotation))
        except AnnotationRefused:
            return "other"

    def _default(self, default: Any) -> Description:
        """A default is known at a call, where it is an argument; here it decides whether the kernel can be judged at once."""
        return None if default is NO_DEFAULT else (self.argument_value(default),)

    # ------------------------------------------------------------------------------------------------------------- types

    def kind(self, kind: ParameterKind) -> Description:
        """What a parameter is."""
        match kind:
            case ScalarKind():
                return ("scalar", self.element(kind.element))
            case ArrayKind():
                facts = None if kind.facts is None else (kind.facts.kind, self.size(kind.facts.bound))
                vector = None if kind.vector is None else self.element(kind.vector)
                sizes = [self.size(size) for size in kind.sizes]
                return ("array", kind.borrow.value, self.element(kind.element), sizes, facts, vector)
            case TupleKind():
                return ("tuple", [self.kind(item) for item in kind.items], kind.variadic)
            case ComptimeKind():
                name = getattr(kind.type, "__qualname__", None)
                return ("comptime", getattr(kind.type, "__module__", ""), name if isinstance(name, str) else repr(kind.type))

    def element(self, element: Any) -> Description:
        """A scalar type, a record or a type variable."""
        if isinstance(element, TypeVar):
            return ("typevar", self._typevars.setdefault(element, len(self._typevars)), element.__name__)
        if isinstance(element, StructType):
            return ("struct", element.name, [(name, self.element(member)) for name, member in element.fields])
        assert isinstance(element, ScalarType)
        return element.name

    def size(self, size: Size) -> Description:
        """A size name, by its number; an expression; a number."""
        if isinstance(size, DimType):
            number = self._dims.setdefault(size, len(self._dims))
            return ("dim", number, size.__name__, None if size.equals is None else self.size(size.equals))
        if isinstance(size, SizeExpression):
            return (size.operator, self.size(size.left), self.size(size.right))
        return int(size)

    def argument(self, type: ArgumentType) -> Description:
        """What a parameter is in a call."""
        if isinstance(type, ComptimeValue):
            return ("comptime", self.value(type.value))
        if isinstance(type, tuple):
            return tuple(self.argument(item) for item in type)
        if isinstance(type, ArrayType):
            return (self.element(type.element), type.dimensions, type.borrow.value, type.layout.value)
        return self.element(type)

    def typevars(self, typevars: Any) -> Description:
        """What type variables stand for."""
        return sorted((self.element(name), self.element(type)) for name, type in typevars.items())

    # ------------------------------------------------------------------------------------------------------------ values

    def argument_value(self, value: Any) -> Description:
        """A default of a parameter: an array is an argument like any other."""
        if isinstance(value, np.ndarray):
            return "an array"
        if isinstance(value, tuple | list) and any(isinstance(item, np.ndarray) for item in value):  # pyright: ignore[reportUnknownVariableType]
            return ("arrays", len(value))  # pyright: ignore[reportUnknownArgumentType]
        return self.value(value)

    def value(self, value: Any, depth: int = 0, *, owner: bool = False) -> Description:
        """A captured value. `depth`: in so many tuples. `owner`: only its attributes are looked at, and they are described apart.

        Of functions, what they read is described apart too.
        """
        cls: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
        if value is None or value is Ellipsis or cls in _PLAIN:
            return (cls.__name__, repr(value))
        if isinstance(value, np.generic):
            dtype: np.dtype[Any] = np.dtype(cls)
            return ("numpy", dtype.str, value.tobytes()) if dtype.kind in "biufc" else self._refuse()
        if isinstance(value, tuple):
            if depth > _DEEPEST:
                self._refuse()
            return ("tuple", [self.value(item, depth + 1) for item in value])  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, ScalarType | StructType | TypeVar):
            return ("type", self.element(value))
        if isinstance(value, DimType | SizeExpression):
            return self.size(value)
        if isinstance(value, types.ModuleType):
            return ("module", value.__name__)
        if getattr(value, "__lend_kernel__", False) and not isinstance(value, type):
            key: bytes | None = None if depth else value.content_key()
            return ("kernel", key) if key is not None else self._refuse()
        if isinstance(value, DeviceFunction | types.FunctionType):
            function = python_function(value)
            if function is None or (depth and not is_own(function.__module__)):
                self._refuse()  # one of several with this text: which one could not be said
            return self.function(function)
        if isinstance(value, type):
            return self._class(value)  # pyright: ignore[reportUnknownArgumentType]
        return self._object(value, cls, owner)

    def _class(self, cls: type[Any]) -> Description:
        struct = struct_type(cls)
        if struct is not None:
            return self.element(struct)
        return ("class", [(base.__module__, base.__qualname__) for base in cls.__mro__])

    def _object(self, value: Any, cls: type[Any], owner: bool) -> Description:
        struct = struct_type(cls)
        if struct is not None:
            return (
                "record",
                self.element(struct),
                [self.value(field_value(value, struct, k)) for k in range(len(struct.fields))],
            )
        for base in _PLAIN:
            if isinstance(value, base):  # a subclass such as IntEnum counts as its plain value, where it counts as a value
                return ("plain", self._class(cls), repr(base(value)))  # type: ignore[arg-type, call-overload]
        place = _place_of(value)
        if place is not None:
            return ("known", *place)
        return ("object", self._class(cls)) if owner else self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unkeepable


def _place_of(value: Any) -> tuple[str, str] | None:
    """Module and name of a function of Python's or NumPy's own; None for anything else."""
    if isinstance(value, np.ufunc):
        return ("numpy", value.__name__) if getattr(np, value.__name__, None) is value else None
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    module = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        return None
    if module.partition(".")[0] not in _KNOWN_PACKAGES and not is_own(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None
