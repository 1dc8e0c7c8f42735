"""`dataclass`, made quickly.

Python's own writes and compiles half a dozen functions for each class, and lend has a hundred classes of trees and facts: without
this they take a twentieth of a second before the first kernel is compiled. Here only `__init__` is written; the other methods are
shared, and look at the fields.

Does: what `dataclasses.dataclass` does for frozen classes; for type checkers it is that.  Does not: make other classes, which it
leaves to Python.
Invariants: `fields`, `replace`, pattern matching, pickling and printing work as with Python's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True):
        """`dataclasses.dataclass` with these options."""

        def make(cls):
            return _frozen(cls, eq) if frozen else dataclasses.dataclass(eq=eq)(cls)

        return make if cls is None else make(cls)


def _frozen(cls: type, eq: bool) -> type:
    # Python sorts out the fields, and writes no function. Of annotations it is told nothing: it would read the text of each.
    annotations = cls.__annotations__
    special = any(word in str(text) for text in annotations.values() for word in _SPECIAL)
    if special or any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
        return dataclasses.dataclass(frozen=True, eq=eq)(cls)  # pyright: ignore[reportUnknownVariableType]
    cls.__annotations__ = dict.fromkeys(annotations, object)
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    cls.__annotations__ = annotations
    cls.__dataclass_params__.frozen = True  # type: ignore[attr-defined]  # pyright: ignore
    fields: tuple[Any, ...] = dataclasses.fields(cls)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for field in fields:
        field.type = annotations[field.name]
    methods: dict[str, Any] = {
        "__init__": _init(cls, fields),
        "__setattr__": _refuse_setting,
        "__delattr__": _refuse_deleting,
        "__repr__": _printed(tuple(field.name for field in fields if field.repr)),
    }
    if eq:
        methods["__eq__"] = _equal(_getter(field.name for field in fields if field.compare))
        methods["__hash__"] = _hashed(_getter(f.name for f in fields if (f.compare if f.hash is None else f.hash)))
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(cls, name, method)
    return cls


def _init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """The one function that is written: its parameters have the fields' names."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    parameters: list[str] = []
    lines: list[str] = []
    for field in fields:
        name = field.name
        if not field.init:
            if field.default_factory is not dataclasses.MISSING:
                known[f"_made_{name}"] = field.default_factory
                lines.append(f" _set(self,{name!r},_made_{name}())")
            continue
        if field.default_factory is not dataclasses.MISSING:
            known[f"_made_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            lines.append(f" _set(self,{name!r},_made_{name}() if {name} is _missing else {name})")
            continue
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f" _set(self,{name!r},{name})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    made: dict[str, Any] = {}
    exec(f"def __init__(self,{','.join(parameters)}):\n" + ("\n".join(lines) or " pass"), known, made)
    made["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return made["__init__"]


def _getter(names: Any) -> Callable[[Any], Any]:
    found = tuple(names)
    return attrgetter(*found) if found else lambda _: ()


def _equal(get: Callable[[Any], Any]) -> Any:
    def __eq__(self: Any, other: object) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashed(get: Callable[[Any], Any]) -> Any:
    def __hash__(self: Any) -> int:
        return hash((get(self),))

    return __hash__


def _printed(names: tuple[str, ...]) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refuse_setting(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
