"""Entry points: made for a specialisation, or found on disk.

Does: plan an entry point, have its code written and assembled, fill its table; keep code and table for other processes.
Does not: decide when a kernel gets one, or in which order they are tried (`native.py`).
Invariants: an entry point holds every object that it compares with, and the code that it calls.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from lend.diagnostics.errors import LendError
from lend.driver import kept
from lend.driver.digests import Unkeepable
from lend.driver.entry_objects import Json, ObjectNames, encoded
from lend.driver.environment import environment
from lend.frontend.capture import Captured, captured_value
from lend.language.abi import FAULT_WORDS
from lend.language.signature import NO_DEFAULT, ArrayKind, ComptimeValue, TupleKind
from lend.language.types import ArrayType, ScalarType
from lend.runtime import vectorcall
from lend.runtime.faults import fault_error, fault_of
from lend.runtime.results import plain_owners
from lend.runtime.settings import config, snapshot
from lend.runtime.store import digest
from lend.targets.cpu import loader
from lend.targets.cpu.entry_names import ENTRY, NEXT, OBJECTS, SUPPORT, Address, Support, support_name
from lend.targets.cpu.python_abi import function_addresses

if TYPE_CHECKING:
    from lend.driver.definition import Definition
    from lend.driver.specialisation import Specialisation
    from lend.runtime.arguments import Binding
    from lend.runtime.launch import Executable
    from lend.targets.cpu.entry import EntryCode, EntryPlan
    from lend.targets.cpu.hand_written import Code
    from lend.targets.cpu.python_abi import PythonAbi

Watched = Sequence[tuple[int, Any, str]]
"""Places of captured values in a table: (place, Captured or object, name)."""

NONE = b"none"
"""Stands on disk for an entry point that cannot be."""


class Entry:
    """A loaded entry point. `next` leads to where the calls go that it leaves."""

    def __init__(self, module: Code, objects: list[Any], watched: Watched) -> None:
        self._module = module
        self._objects = objects
        self._watched = watched
        self._table = load_objects(module, self._objects)
        self._next = ctypes.c_void_p.from_address(module.data_address(NEXT))
        self.address = module.address(ENTRY)

    def lead_to(self, address: int) -> None:
        """Where calls go that this entry leaves."""
        self._next.value = address

    def refresh(self) -> None:
        """Compare with the captured values as they are now, which are found to be equal to what they were."""
        for slot, owner, name in self._watched:
            value = captured_value(owner, name)
            if value is not self._objects[slot]:
                self._objects[slot] = value
                self._table[slot] = id(value)


def load_objects(module: Code, objects: list[Any]) -> Any:
    """Fill a module's table; the caller keeps the objects."""
    table = (ctypes.c_uint64 * len(objects)).from_address(module.data_address(OBJECTS))
    for place, value in enumerate(objects):
        table[place] = value.value if isinstance(value, Address) else id(value)
    return table


# ------------------------------------------------------------------------------------------- what all entry points share


class _Shared:
    """What all entry points share, compiled once for the process. At the end of every chain, `__call__` is called."""

    def __init__(self) -> None:
        names = ObjectNames([(["one"], 1), *((["owner", k], cls) for k, cls in enumerate(plain_owners()))])
        store = kept.store(snapshot())
        key = None if store is None else _shared_key()
        found = None if store is None or key is None else _find(store.find(key), names)
        if found is None:
            self._module, self._objects = self._assemble()
            if store is not None and key is not None:
                _save(store, key, self._module, self._objects, names, [])
        else:
            self._module, self._objects, _ = found
        load_objects(self._module, self._objects)
        self.functions = Support(**{name: self._module.address(support_name(name)) for name in SUPPORT})

    def _assemble(self) -> tuple[Code, list[Any]]:
        from lend.targets.cpu.emit import compile_module
        from lend.targets.cpu.entry_support import support_code
        from lend.targets.cpu.python_abi import python_abi

        abi = python_abi()
        assert abi is not None
        text, objects = support_code(plain_owners(), abi)
        return compile_module(text, quick=True, symbols=function_addresses()), objects


def _shared_key() -> bytes | None:
    try:
        return digest(environment(snapshot()) + b"shared") + b"e"
    except OSError:
        return None


@cache
def _shared() -> _Shared:
    return _Shared()


def shared_functions() -> Support:
    """The functions that all entry points share."""
    return _shared().functions


# ------------------------------------------------------------------------------------------------------- entry points


class Way(Protocol):
    """How the calls of an entry point run. `key`: tells it from others of the same specialisation."""

    key: str

    def code(self, plan: EntryPlan, abi: PythonAbi) -> EntryCode | None:
        """The entry point; None if Python alone can bind its calls."""
        ...

    def names(self) -> Iterable[tuple[Json, Any]]:
        """What this process calls the objects of the code that are the way's own."""
        ...


class Here:
    """On the processor."""

    key = ""

    def __init__(self, executable: Executable) -> None:
        self._fault = _raiser(executable)

    def code(self, plan: EntryPlan, abi: PythonAbi) -> EntryCode | None:
        """See `Way`."""
        from lend.targets.cpu.entry import entry_code

        return entry_code(replace(plan, fault=self._fault), abi)

    def names(self) -> Iterable[tuple[Json, Any]]:
        """See `Way`."""
        return [(["fault"], self._fault)]


def make_entry(owner: Any, definition: Definition, specialisation: Specialisation, binding: Binding, way: Way) -> Entry | None:
    """The entry point of a specialisation; None if Python alone can bind its calls."""
    if not vectorcall.enabled(owner.__class__):
        return None
    store, place = kept.store(snapshot()), specialisation.place
    if store is None or place is None:
        made = _made(definition, specialisation, binding, way)
        return None if made is None else Entry(*made)
    key = _key(place, binding, way)
    content = store.find(key)
    if content == NONE:
        return None
    names = ObjectNames(_names(definition, specialisation, binding, way, place))
    found = _find(content, names, place)
    if found is None:
        found = _made(definition, specialisation, binding, way)
        if found is None:
            store.save(key, NONE)
            return None
        _save(store, key, found[0], found[1], names, found[2], place)
    return Entry(*found)


def _key(place: kept.Place, binding: Binding, way: Way) -> bytes:
    return digest(repr((place.key, way.key, [lent.array.dtype.str for lent in binding.lent])).encode()) + b"e"


def _made(
    definition: Definition, specialisation: Specialisation, binding: Binding, way: Way
) -> tuple[Code, list[Any], Watched] | None:
    """Code, table and watched captured values of a new entry point."""
    from lend.targets.cpu.emit import compile_module
    from lend.targets.cpu.entry import EntryPlan
    from lend.targets.cpu.python_abi import python_abi

    abi, executable = python_abi(), specialisation.executable
    if abi is None:
        return None
    plan = EntryPlan(
        signature=definition.signature,
        types=binding.types,
        given=binding.given,
        dtypes=tuple(lent.array.dtype for lent in binding.lent),
        captured=definition.captured,
        contracts=definition.conditions(),
        watched=tuple((dependency.owner, dependency.name) for dependency in specialisation.dependencies),
        result=executable.result,
        loops=specialisation.loops,
        tested=specialisation.tested,
        kernel=executable.address,
        fault=None,
        settings=config.versions_address,
        support=shared_functions(),
    )
    code = way.code(plan, abi)
    if code is None:
        return None
    return compile_module(code.ir, quick=True, symbols=function_addresses()), list(code.objects), code.watched


def _raiser(executable: Executable) -> Any:
    """What compiled code calls after a fault."""

    def fault(record: bytes) -> NoReturn:
        words = memoryview(record).cast("q").tolist()
        assert len(words) == FAULT_WORDS
        error: LendError = fault_error(executable.kernel, fault_of(words, executable.sites))
        raise error

    return fault


# ------------------------------------------------------------------------------------------------------------ on disk


def _names(
    definition: Definition, specialisation: Specialisation, binding: Binding, way: Way, place: kept.Place
) -> Iterator[tuple[Json, Any]]:
    """What this process calls the objects of an entry point's table."""
    yield from way.names()
    yield ["zero"], Address(0)
    yield ["settings"], Address(config.versions_address)
    yield ["kernel"], Address(specialisation.executable.address)
    yield from ((["support", name], Address(address)) for name, address in shared_functions()._asdict().items())
    for position, (spec, type) in enumerate(zip(definition.signature.parameters, binding.types, strict=True)):
        if isinstance(type, ComptimeValue):
            yield ["given", position], binding.given[position]
        if spec.default is not NO_DEFAULT:
            yield ["default", position], spec.default
    yield from _tests(definition, binding)
    yield from ((["dtype of", position], lent.array.dtype) for position, lent in enumerate(binding.lent))
    for number, captured in enumerate(place.reads.captured):
        yield ["globals", number], captured.globals
        yield from ((["cell", number, name], cell) for name, cell in captured.closure.items())
    for number, value in enumerate(place.reads.values):
        if any(way[0] == "o" and way[1] == number for way in place.reads.ways):
            yield ["value", number], value
            if isinstance(value, ModuleType):
                yield ["attributes", number], value.__dict__


def _tests(definition: Definition, binding: Binding) -> Iterator[tuple[Json, Any]]:
    """The tests of index arrays."""
    for spec, type in zip(definition.signature.parameters, binding.types, strict=True):
        kinds = spec.kind.items if isinstance(spec.kind, TupleKind) else (spec.kind,)
        for kind, array in zip(kinds, type if isinstance(type, tuple) else (type,), strict=False):
            element = array.element if isinstance(array, ArrayType) else None
            if isinstance(kind, ArrayKind) and kind.facts is not None and isinstance(element, ScalarType):
                from lend.targets.cpu.index_tests import index_test

                yield ["test", kind.facts.kind, element.bits], Address(index_test(kind.facts.kind, element.bits).address)


def _find(content: bytes | None, names: ObjectNames, place: kept.Place | None = None) -> tuple[Code, list[Any], Watched] | None:
    """Code, table and watched captured values as they were kept."""
    if content is None or content == NONE:
        return None
    table, ways, object_code = kept.unpack(content)
    watched: list[tuple[int, Any, str]] = []
    if place is not None:
        ends: dict[str, Sequence[Any]] = {"f": place.reads.captured, "o": place.reads.values}
        watched = [(slot, ends[kind][number], name) for slot, kind, number, name in json.loads(ways)]
    looked_at = {slot: captured_value(owner, name) for slot, owner, name in watched}
    try:
        objects = [looked_at[k] if k in looked_at else names.find(name) for k, name in enumerate(json.loads(table))]
    except KeyError:
        return None
    module = loader.load(object_code, dict(function_addresses()))
    return None if module is None else (module, objects, watched)


def _save(
    store: kept.Store,
    key: bytes,
    module: Code,
    objects: list[Any],
    names: ObjectNames,
    watched: Watched,
    place: kept.Place | None = None,
) -> None:
    """Keep an entry point, if all its objects have names."""
    try:
        ways = [[slot, *_way(owner, name, place)] for slot, owner, name in watched] if place is not None else []
        slots = {slot for slot, _, _ in watched}
        table = encoded((None if k in slots else value for k, value in enumerate(objects)), names)
        store.save(key, kept.pack((table, json.dumps(ways).encode(), module.object_code())))
    except Unkeepable:
        return


def _way(owner: Any, name: str, place: kept.Place) -> list[Any]:
    """The way to a captured value; one of those that are part of the key, since the code may hold the value itself."""
    functions: list[Any] = [captured.function for captured in place.reads.captured]
    own: Any = owner.function if isinstance(owner, Captured) else None  # pyright: ignore[reportUnknownMemberType]
    for way in place.reads.ways:
        kind, number, known = way
        if known == name:
            if kind == "f" and functions[number] is own:
                return way
            if kind == "o" and place.reads.values[number] is owner:
                return way
    raise Unkeepable
