"""The objects in an entry point's table, by names that another process understands.

Does: name each object that the code compares with, calls or gives back, and find it again.  Does not: know code.
Invariants: an object is named only by what it is for the call and the kernel (an argument, a default, a captured value, a class
of Python's or NumPy's); an address, by whose it is. What has no such name raises `Unkeepable`, and the entry is not kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from lend.driver.digests import Unkeepable
from lend.language.dtypes import numpy_dtype
from lend.language.types import BF16, SCALARS
from lend.targets.cpu.entry_names import Address

Json = Any

_CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False}
_SCALARS = {scalar.name: scalar for scalar in SCALARS if scalar is not BF16}


class ObjectNames:
    """Names for the objects of one table: those that are `given`, first come first served, then what every process has."""

    def __init__(self, given: Iterable[tuple[Json, Any]]) -> None:
        self._given = list(given)

    def name(self, value: Any) -> Json:
        """The name of an object or an address. Raises Unkeepable."""
        for constant, known in _CONSTANTS.items():
            if value is known:
                return ["constant", constant]
        for name, known in self._given:
            if (value == known and isinstance(known, Address)) if isinstance(value, Address) else value is known:
                return name
        if isinstance(value, type):
            place = [value.__module__, value.__qualname__]
            if _at(*place) is value:
                return ["class", *place]
        if type(value) is str and sys.intern(value) is value:
            return ["word", value]
        for scalar, type_ in _SCALARS.items():
            if value is numpy_dtype(type_):
                return ["dtype", scalar]
        raise Unkeepable

    def find(self, name: Json) -> Any:
        """The object of a name. Raises KeyError."""
        match name:
            case ["constant", constant]:
                return _CONSTANTS[constant]
            case ["class", module, qualname]:
                found = _at(module, qualname)
                if not isinstance(found, type):
                    raise KeyError(name)
                return found
            case ["word", text]:
                return sys.intern(text)
            case ["dtype", scalar]:
                return numpy_dtype(_SCALARS[scalar])
            case _:
                for known, value in self._given:
                    if known == name:
                        return value
                raise KeyError(name)


def _at(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def encoded(objects: Iterable[Any], names: ObjectNames) -> bytes:
    """A table of objects."""
    return json.dumps([names.name(value) for value in objects]).encode()
