"""The native entry point of one specialisation: from a call's Python objects to the kernel and back, in machine code.

Does: write a function with Python's vectorcall signature that compares a call with the specialisation's key, packs the words of
`language/abi.py`, runs the kernel and gives its result.  Does not: decide anything hard. Any doubt before the kernel runs
leads on to the next entry (`NEXT`) with the call as it came; the last of the chain calls Python.
Invariants: what passes the guards would have bound in Python to the same specialisation, sizes and words, and would have
passed the same checks; guards have no effects; once the kernel has run, no other entry runs: a fault raises.

The code knows no address of this process: `OBJECTS` (`entry_builder.py`) is filled when it is loaded.
"""

from __future__ import annotations

import sys
from dataclasses import field
from types import CellType, ModuleType
from typing import Any, TypeVar

import numpy as np

from lend.diagnostics.records import dataclass
from lend.frontend.capture import Captured, captured_value
from lend.ir import syntax
from lend.language.abi import (
    FAULT_LOCK,
    FAULT_SITE,
    FAULT_THREAD,
    FAULT_WORDS,
    NO_FAULT,
    WRONG_INDEX,
    argument_words,
    result_words,
)
from lend.language.dims import DimType
from lend.language.signature import (
    NO_DEFAULT,
    ArgumentType,
    ArrayKind,
    ComptimeValue,
    ParameterSpec,
    ResultLeaf,
    ResultShape,
    ResultTuple,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.types import F64, PART, ArrayType, ScalarType, StructType
from lend.lower.builder import ModuleBuilder
from lend.targets.cpu.entry_arguments import (
    Bindings,
    NotNative,
    bind_array,
    bind_scalar,
    guard_aliases,
    guard_comptime,
    guard_computed,
)
from lend.targets.cpu.entry_builder import MISS, EntryBuilder, ObjectTable
from lend.targets.cpu.entry_contracts import ContractWriter
from lend.targets.cpu.entry_indices import guard_indices
from lend.targets.cpu.entry_names import ENTRY, NEXT, Address, Support
from lend.targets.cpu.python_abi import PythonAbi

SHORT = 1024
"""So many iterations of a kernel without other loops are over before giving up Python's lock would have paid."""

Loops = tuple[tuple[tuple[int | None, int], ...], ...]
"""Per parallel loop, per extent: at most `dims[position] + constant` iterations (just the constant, if the position is None)."""


@dataclass(frozen=True)
class EntryPlan:
    """What an entry point is made from.

    types: the specialisation's key. given: arguments that have it, in the parameters' order. dtypes: of the arrays among
    them, in order. contracts: their conditions. watched: captured values, as (Captured or object, name), that must be what
    they are now. loops: None if the kernel can take long whatever the sizes. tested: parameters whose elements the kernel tests
    itself. kernel: the host function's address. fault: called with the bytes of a fault record, raises. settings: the address of
    the version of the settings and of those that were applied (`settings.py`).
    """

    signature: Signature
    types: tuple[ArgumentType, ...]
    given: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    captured: Captured
    contracts: tuple[syntax.Expr, ...]
    watched: tuple[tuple[Any, str], ...]
    result: ResultShape | None
    loops: Loops | None
    tested: tuple[str, ...]
    kernel: int
    fault: Any
    settings: int
    support: Support


@dataclass(frozen=True)
class EntryCode:
    """The module's text, and what its table of objects must hold, in order. `watched`: places of captured values."""

    ir: str
    objects: list[Any]
    watched: list[tuple[int, Any, str]] = field(default_factory=list[tuple[int, Any, str]])


def entry_code(plan: EntryPlan, abi: PythonAbi) -> EntryCode | None:
    """The entry point of a specialisation; None if Python alone can bind its calls."""
    try:
        return EntryWriter(plan, abi).write()
    except NotNative:
        return None


class EntryWriter:
    """Writes one entry point."""

    applied = 8
    """Where the version stands that must be the one in force, behind `EntryPlan.settings`."""

    def __init__(self, plan: EntryPlan, abi: PythonAbi) -> None:
        self.plan = plan
        self.module = ModuleBuilder()
        self.b = EntryBuilder(self.module, abi, ObjectTable(), plan.support)
        self.parameters = plan.signature.parameters
        words = len(plan.signature.dims) + sum(argument_words(leaf) for leaf in _leaves(plan.types))
        self.call = Bindings(self.b.alloca(f"[{max(words, 1)} x i64]", "words", 8))
        self.word = len(plan.signature.dims)
        self.dtypes = iter(plan.dtypes)
        self.watched: list[tuple[int, Any, str]] = []
        self.versions = 0

    def write(self) -> EntryCode:
        b, plan = self.b, self.plan
        self.settings()
        self._watch(plan.watched)
        arguments = self._match()
        for position, (spec, type) in enumerate(zip(self.parameters, plan.types, strict=True)):
            self._bind(spec, type, b.field("ptr", arguments, 8 * position), plan.given[position])
        for position, dim in enumerate(plan.signature.dims):
            if dim not in self.call.sizes:
                raise NotNative
            b.put("i64", self.call.sizes[dim], self.call.words, 8 * position)
        guard_computed(b, self.call)
        guard_aliases(b, self.call)
        self._watch(tuple(self._contracts()))
        guard_indices(b, self.call)
        self.run()
        self._misses()
        self.module.add_function(
            f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames) nounwind {{\n{b.body()}\n}}"
        )
        b.table.declare(self.module)
        self.module.declare(NEXT, f"@{NEXT} = global ptr null")
        self.module.declare("versions", f"@versions = internal global [{max(self.versions, 1)} x i64] zeroinitializer")
        return EntryCode(self.module.text(), b.table.objects, self.watched)

    # ------------------------------------------------------------------------------------------- which call

    def settings(self) -> None:
        """Settings that changed are applied by Python."""
        pair = self.b.address(self.plan.settings)
        self.b.require_same("i64", self.b.field("i64", pair, 0), self.b.field("i64", pair, self.applied))

    def _match(self) -> str:
        """Where the arguments stand in the parameters' order."""
        b, count = self.b, len(self.parameters)
        given = b.emit(f"and i64 %nargsf, {(1 << 63) - 1}")
        ordered = b.emit(f"icmp eq i64 {given}, {count}")
        unnamed = b.emit("icmp eq ptr %kwnames, null")
        named, ready = b.new_block("named"), b.new_block("ready")
        plain = "false" if any(spec.keyword_only for spec in self.parameters) else b.all_of([ordered, unnamed])
        before = b.block
        b.branch(plain, ready, named, (100, 1))
        b.open(named)
        slots = b.alloca(f"[{max(count, 1)} x ptr]", "slots", 8)
        names = b.table.row([sys.intern(spec.name) for spec in self.parameters])
        defaults = b.table.row([Address(0) if spec.default is NO_DEFAULT else spec.default for spec in self.parameters])
        positional = sum(not spec.keyword_only for spec in self.parameters)
        places = (b.place(names), b.place(defaults), str(count), str(positional))
        b.require(b.support("match", "%args", given, "%kwnames", slots, *places))
        came = b.block
        b.jump(ready)
        b.open(ready)
        return b.emit(f"phi ptr [ %args, %{before} ], [ {slots}, %{came} ]")

    # ------------------------------------------------------------------------------------------- arguments

    def _bind(self, spec: ParameterSpec, type: ArgumentType, value: str, given: Any) -> None:
        if isinstance(type, StructType):
            raise NotNative
        if isinstance(type, ComptimeValue):
            guard_comptime(self.b, value, given)
        elif isinstance(type, ScalarType):
            alone = isinstance(spec.kind, ScalarKind) and isinstance(spec.kind.element, TypeVar)
            alone = alone and not self._decided_by_array(spec.kind.element)  # type: ignore[union-attr]
            self.call.scalars[spec.name] = (type, bind_scalar(self.b, value, type, self._place(type), alone=alone))
        elif isinstance(type, ArrayType):
            assert isinstance(spec.kind, ArrayKind)
            known = len(self.call.indices)
            self.array(spec.kind, type, value)
            if spec.name in self.plan.tested:
                del self.call.indices[known:]
        else:
            assert isinstance(spec.kind, TupleKind)
            self._tuple(spec.kind, type, value)

    def _tuple(self, kind: TupleKind, types: tuple[ArrayType, ...], value: str) -> None:
        b = self.b
        b.require_same("ptr", b.type_of(value), b.object(tuple))
        b.require_same("i64", b.api("PyTuple_Size", value), str(len(types)))
        for position, type in enumerate(types):
            item = kind.items[0] if kind.variadic else kind.items[position]
            self.array(item, type, b.api("PyTuple_GetItem", value, str(position)))

    def array(self, kind: ArrayKind, type: ArrayType, value: str) -> None:
        """Bind an array."""
        value = self.admitted(value, type)
        bound = bind_array(self.b, value, type, kind.sizes, next(self.dtypes), self._place(type), self.call)
        if kind.facts is not None:
            self.call.indices.append((kind.facts, bound))

    def admitted(self, value: str, type: ArrayType) -> str:
        """The array's fields: here, an object that is exactly of NumPy's class."""
        self.b.require_same("ptr", self.b.type_of(value), self.b.object(np.ndarray))
        return value

    def _place(self, leaf: ScalarType | ArrayType) -> str:
        """Where the next leaf's words go."""
        place = self.b.offset(self.call.words, 8 * self.word)
        self.word += argument_words(leaf)
        return place

    def _decided_by_array(self, typevar: object) -> bool:
        for spec, type in zip(self.parameters, self.plan.types, strict=True):
            if isinstance(spec.kind, ArrayKind) and spec.kind.element is typevar:
                return True
            if isinstance(spec.kind, TupleKind) and isinstance(type, tuple) and type:
                items = spec.kind.items[:1] if spec.kind.variadic else spec.kind.items
                if any(item.element is typevar for item in items):
                    return True
        return False

    # ------------------------------------------------------------------------------------------- contracts

    def _contracts(self) -> list[tuple[Any, str]]:
        """Guard the contracts; gives the captured values that they mention."""
        if not self.plan.contracts:
            return []
        kinds = {spec.name: spec.kind for spec in self.parameters}
        writer = ContractWriter(self.b, self.plan.captured, kinds, self.call.sizes)
        for spec, type in zip(self.parameters, self.plan.types, strict=True):
            if isinstance(type, ScalarType):
                writer.know_scalar(spec.name, *self.call.scalars[spec.name])
            elif isinstance(type, ComptimeValue):
                writer.know_constant(spec.name, type.value)
        for size in (*self.plan.signature.dims, *_derived(self.parameters)):
            writer.know_size(size)
        for test in self.plan.contracts:
            writer.guard(test)
        return writer.watched

    # ------------------------------------------------------------------------------------------- captured values

    def _watch(self, watched: tuple[tuple[Any, str], ...]) -> None:
        """Captured values are the very objects that they were."""
        tables: dict[int, tuple[dict[str, Any], list[tuple[Any, str]]]] = {}
        for owner, name in {(id(owner), name): (owner, name) for owner, name in watched}.values():
            table = _table_of(owner, name)
            if isinstance(table, CellType):
                value = self.b.field("ptr", self.b.object(table), self.b.abi.cell_value)
                self.b.require_same("ptr", value, self.b.at_slot(self._remember([(owner, name)])))
            elif table is None:
                self._watch_attribute(owner, name)
            else:
                tables.setdefault(id(table), (table, []))[1].append((owner, name))
        for table, entries in tables.values():
            self._watch_table(table, entries)

    def _remember(self, entries: list[tuple[Any, str]]) -> int:
        """The first place of the values as they are now, side by side."""
        first = self.b.table.row([captured_value(owner, name) for owner, name in entries])
        self.watched += [(first + k, owner, name) for k, (owner, name) in enumerate(entries)]
        return first

    def _watch_table(self, table: dict[str, Any], entries: list[tuple[Any, str]]) -> None:
        """Names in a dictionary; if it has not changed since they were looked at last, they need not be looked at."""
        b, at = self.b, self.b.abi.dict_version
        dictionary = b.object(table)
        version, seen, on = "0", "", b.new_block("captured")
        if at is not None:
            seen = f"getelementptr (i8, ptr @versions, i64 {8 * self.versions})"
            self.versions += 1
            version = b.field("i64", dictionary, at)
            look = b.new_block("changed")
            b.branch(b.emit(f"icmp eq i64 {version}, {b.emit(f'load i64, ptr {seen}')}"), on, look, (100, 1))
            b.open(look)
        names = b.table.row([sys.intern(name) for _, name in entries])
        values = self._remember(entries)
        b.require(b.support("captured", dictionary, b.place(names), b.place(values), str(len(entries))))
        if at is not None:
            b.append(f"store i64 {version}, ptr {seen}")
        b.jump(on)
        b.open(on)

    def _watch_attribute(self, owner: Any, name: str) -> None:
        """An attribute of an object that is no module."""
        b = self.b
        value = b.at_slot(self._remember([(owner, name)]))
        b.require(b.support("attribute", b.object(owner), b.object(sys.intern(name)), value))

    # ------------------------------------------------------------------------------------------- the kernel

    def run(self) -> None:
        """Run the kernel, and give its result or raise its fault."""
        b, plan = self.b, self.plan
        leaves, results, record = self.room()
        status = self._unlocked((b.address(plan.kernel), self.call.words, results, record))
        fine, failed = b.new_block("fine"), b.new_block("failed")
        b.branch(b.emit(f"icmp eq i32 {status}, 0"), fine, failed, (2000, 1))
        b.open(failed)
        if plan.tested:  # nothing has been written: Python finds and words what is wrong
            site, words = b.field("i64", record, 8 * FAULT_SITE), b.new_block("words")
            b.branch(b.emit(f"icmp eq i64 {site}, {WRONG_INDEX}"), MISS, words)
            b.open(words)
        b.ret(f"ptr {b.support('fault', b.object(plan.fault), record)}")
        b.open(fine)
        self.result(leaves, results)

    def room(self, more: int = 0) -> tuple[list[ScalarType], str, str]:
        """The types of what the kernel gives, where it puts that, and a record of no fault with `more` words behind it."""
        b = self.b
        leaves = _result_leaves(self.plan.result)
        results = b.alloca(f"[{max(sum(map(result_words, leaves)), 1)} x i64]", "results", 8)
        record = b.alloca(f"[{FAULT_WORDS + more} x i64]", "fault", 8)
        b.append(f"store [{FAULT_WORDS} x i64] zeroinitializer, ptr {record}, align 8")
        b.put("i64", "0", record, 8 * FAULT_LOCK)
        b.put("i64", str(NO_FAULT), record, 8 * FAULT_THREAD)
        return leaves, results, record

    def _unlocked(self, call: tuple[str, str, str, str]) -> str:
        """Run the kernel, without Python's lock unless that is over at once; gives its status."""
        b, loops = self.b, self.plan.loops
        if loops is None:
            return b.support("unlocked", *call)
        hold, release, done = (b.new_block(hint) for hint in ("hold", "release", "done"))
        b.branch(self._is_short(loops), hold, release)
        b.open(hold)
        held = b.emit(f"call i32 {call[0]}({', '.join(f'ptr {argument}' for argument in call[1:])})")
        b.jump(done)
        b.open(release)
        status = b.support("unlocked", *call)
        b.jump(done)
        b.open(done)
        return b.emit(f"phi i32 [ {held}, %{hold} ], [ {status}, %{release} ]")

    def _is_short(self, loops: Loops) -> str:
        """Whether there are few iterations in all."""
        b = self.b
        total, conditions = "0", ["true"]
        b.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        for factors in loops:
            product = "1"
            for position, constant in factors:
                size = "0" if position is None else self.call.sizes[self.plan.signature.dims[position]]
                count = b.emit(f"add i64 {size}, {constant}")
                conditions.append(b.emit(f"icmp sle i64 {count}, {SHORT}"))
                product = b.emit(f"mul i64 {product}, {b.emit(f'call i64 @llvm.smax.i64(i64 {count}, i64 0)')}")
            total = b.emit(f"add i64 {total}, {product}")
        return b.all_of([*conditions, b.emit(f"icmp ule i64 {total}, {SHORT}")])

    def result(self, leaves: list[ScalarType], results: str) -> None:
        """Give what the kernel gave."""
        b = self.b
        if self.plan.result is None:
            nothing = b.object(None)
            if sys.version_info < (3, 12):  # since then it is not counted
                b.api("Py_IncRef", nothing)
            b.ret(f"ptr {nothing}")
            return
        if isinstance(self.plan.result, ResultLeaf):
            b.ret(f"ptr {self._number(leaves[0], results)}")
            return
        whole = b.api("PyTuple_New", str(len(leaves)))
        failed, incomplete = b.new_block("no_tuple"), b.new_block("incomplete")
        on = b.new_block("on")
        b.branch(b.emit(f"icmp eq ptr {whole}, null"), failed, on)
        b.open(on)
        word = 0
        for position, leaf in enumerate(leaves):
            item, on = self._number(leaf, b.offset(results, 8 * word)), b.new_block("on")
            b.branch(b.emit(f"icmp eq ptr {item}, null"), incomplete, on)
            b.open(on)
            b.api("PyTuple_SetItem", whole, str(position), item)
            word += result_words(leaf)
        b.ret(f"ptr {whole}")
        b.open(incomplete)
        b.api("Py_DecRef", whole)
        b.jump(failed)
        b.open(failed)
        b.ret("ptr null")

    def _number(self, type: ScalarType, place: str) -> str:
        """A new Python number."""
        b = self.b
        value = b.scalars.load(type, place, 8)
        match type.kind:
            case "bool":
                return b.api("PyBool_FromLong", b.emit(f"zext i1 {value} to i64"))
            case "float":
                return b.api("PyFloat_FromDouble", b.scalars.cast(type, F64, value))
            case "complex":
                parts = [b.scalars.cast(PART[type], F64, part) for part in b.scalars.parts(type, value)]
                return b.api("PyComplex_FromDoubles", *parts)
            case _:
                extend = "sext" if type.kind == "int" else "zext"
                wide = value if type.bits == 64 else b.emit(f"{extend} i{type.bits} {value} to i64")
                return b.api("PyLong_FromLongLong" if type.kind == "int" else "PyLong_FromUnsignedLongLong", wide)

    def _misses(self) -> None:
        b = self.b
        b.open(MISS)
        following = b.emit(f"load ptr, ptr @{NEXT}")
        b.ret(f"ptr {b.emit(f'tail call ptr {following}(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames)')}")


def _table_of(owner: Any, name: str) -> dict[str, Any] | CellType | None:
    """Where a captured value is kept: a cell or a dictionary; None for an attribute that Python has to look up."""
    if isinstance(owner, Captured):
        if name in owner.closure:
            return owner.closure[name]
        if name in owner.globals:
            return owner.globals
        raise NotNative
    if type(owner) is ModuleType and name in owner.__dict__:
        return owner.__dict__
    return None


def _leaves(types: tuple[ArgumentType, ...]) -> list[ScalarType | ArrayType]:
    leaves: list[ScalarType | ArrayType] = []
    for type in types:
        if isinstance(type, StructType):
            raise NotNative
        if not isinstance(type, ComptimeValue):
            leaves += type if isinstance(type, tuple) else (type,)
    return leaves


def _result_leaves(shape: ResultShape | None) -> list[ScalarType]:
    """The scalars that the kernel gives: one, or a tuple of them. Raises NotNative for anything else."""
    if shape is None:
        return []
    items = shape.items if isinstance(shape, ResultTuple) else (shape,)
    leaves: list[ScalarType] = []
    for item in items:
        if not isinstance(item, ResultLeaf) or not isinstance(item.type, ScalarType):
            raise NotNative
        leaves.append(item.type)
    return leaves


def _derived(parameters: tuple[ParameterSpec, ...]) -> list[DimType]:
    """Derived sizes that annotations mention."""
    kinds = [item for spec in parameters for item in _array_kinds(spec)]
    return [size for kind in kinds for size in kind.sizes if isinstance(size, DimType) and size.equals is not None]


def _array_kinds(spec: ParameterSpec) -> tuple[ArrayKind, ...]:
    if isinstance(spec.kind, ArrayKind):
        return (spec.kind,)
    return spec.kind.items if isinstance(spec.kind, TupleKind) else ()
