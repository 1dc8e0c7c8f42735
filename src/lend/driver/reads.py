"""Captured values as another process finds them: where each is read, and what it was.

Does: note by which way the compiler came to each captured value (a name of the kernel, of a function that it calls, an attribute
of a module), and go the same ways again in a process that did not compile.  Does not: read or write files.
Invariants: ways and descriptions are the same exactly if the compiler would have read the same, so that its result holds.

A way is `[owner kind, owner, name]`: `["f", k, name]` is a name in function k, `["o", k, name]` an attribute of what way k led
to. Function 0 is the kernel; any other is `["v", k]`, what way k led to, or `["a", k]`, the compile-time argument k.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lend.diagnostics.errors import LendError
from lend.driver.digests import Digester, Unkeepable, is_own, python_function
from lend.frontend.capture import MISSING, Captured, Dependency, captured_value, outline
from lend.language.signature import ArgumentType, ComptimeValue

Way = list[Any]

_VALUES = (bool, int, float, complex, str, bytes, tuple, np.generic, type(None))
"""What has no identity that matters."""


@dataclass
class Reads:
    """All ways of one compilation, and what was found at their ends."""

    functions: list[Way]
    ways: list[Way]
    captured: list[Captured]  # of the functions
    values: list[Any]  # at the ends of the ways
    dependencies: list[Dependency] = field(default_factory=list[Dependency])

    def description(self, digester: Digester) -> Any:
        """What was found. Raises Unkeepable."""
        owners = {way[1] for way in self.ways if way[0] == "o"}
        values = [digester.value(value, owner=k in owners) for k, value in enumerate(self.values)]
        return values, self._identities()

    def _identities(self) -> list[tuple[int, int]]:
        """Which values are the same functions and the same objects: what is read of one is noted once."""
        functions: dict[Any, int] = {captured.function: k for k, captured in reversed(list(enumerate(self.captured)))}
        first: dict[int, int] = {}
        found: list[tuple[int, int]] = []
        value: Any
        for place, value in enumerate(self.values):
            function = python_function(value)
            number = -1 if function is None else functions.get(function, -1)
            object = -1 if isinstance(value, _VALUES) else first.setdefault(id(value), place)
            found.append((number, object))
        return found


def note(kernel: Captured, types: Sequence[ArgumentType], reads: Sequence[Dependency]) -> Reads:
    """The ways to what the compiler read. Raises Unkeepable where it came to something in another manner."""
    found = Reads([["k"]], [], [kernel], [])
    functions: dict[Any, int] = {kernel.function: 0}  # by Python function
    objects: dict[int, int] = {}  # by identity
    for place, type in enumerate(types):
        if isinstance(type, ComptimeValue):
            _add_function(found, functions, type.value, ["a", place])
    seen: set[tuple[int, str]] = set()
    for read in reads:
        owner: Any = read.owner
        if isinstance(owner, Captured):
            if is_own(owner.module) and owner.function not in functions:
                continue  # lend's own functions read what stands in lend's own files
            owner, kind, place = owner.function, "f", functions.get(owner.function)
        else:
            kind, place = "o", objects.get(id(owner))
        if place is None:
            raise Unkeepable
        if (id(owner), read.name) in seen:
            continue
        seen.add((id(owner), read.name))
        found.ways.append([kind, place, read.name])
        found.values.append(read.value)
        objects.setdefault(id(read.value), len(found.values) - 1)
        _add_function(found, functions, read.value, ["v", len(found.values) - 1])
    return found


def _add_function(found: Reads, functions: dict[Any, int], value: Any, way: Way) -> None:
    function = python_function(value)
    if function is None or function in functions or is_own(function.__module__):
        return
    try:
        captured = outline(function)
    except LendError:
        return  # it was not called, or else there is an error
    functions[function] = len(found.functions)
    found.functions.append(way)
    found.captured.append(captured)


def follow(kernel: Captured, types: Sequence[ArgumentType], functions: list[Way], ways: list[Way]) -> Reads | None:
    """What stands at the ends of the ways in this process; None if one of them leads nowhere."""
    found = Reads(functions, ways, [], [])
    pending = list(functions)
    way: Way | None
    for way in [*ways, None]:
        while pending and (pending[0][0] != "v" or pending[0][1] < len(found.values)):
            captured = _function_at(kernel, types, pending.pop(0), found.values)
            if captured is None:
                return None
            found.captured.append(captured)
        if way is None:
            break
        kind, place, name = way
        owners: Sequence[Any] = found.captured if kind == "f" else found.values
        if place >= len(owners):
            return None
        value = captured_value(owners[place], name)
        if value is MISSING:
            return None
        found.values.append(value)
        if can_change(owners[place], name, value):
            found.dependencies.append(Dependency(owners[place], name, value))
    return found if not pending else None


def _function_at(kernel: Captured, types: Sequence[ArgumentType], way: Way, values: list[Any]) -> Captured | None:
    if way[0] == "k":
        return kernel
    ends: Sequence[Any] = values if way[0] == "v" else [getattr(type, "value", None) for type in types]
    if way[1] >= len(ends):
        return None
    value: Any = ends[way[1]]
    function = python_function(value)
    try:
        return None if function is None else outline(function)
    except LendError:
        return None


def can_change(owner: Any, name: str, value: Any) -> bool:
    """Whether a captured value has to be compared at each call: modules and Python's own functions do not change."""
    if isinstance(value, types.ModuleType):
        return False
    return not isinstance(owner, Captured) or getattr(builtins, name, MISSING) is not value
