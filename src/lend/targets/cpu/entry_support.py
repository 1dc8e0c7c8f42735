"""What all entry points share: functions that are compiled once for the process.

Does: write the module: the end of every chain of entry points, which calls Python with the call as it came; and what entry
points do off their shortest way (keywords, captured values that moved, owners of memory, the kernel without Python's lock,
faults).
Does not: know specialisations.
Invariants: what gives an i1 has no effects that Python could see; the caller's array of arguments is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lend.language.abi import FAULT_WORDS
from lend.lower.builder import ModuleBuilder
from lend.targets.cpu.entry_builder import MISS, EntryBuilder, ObjectTable
from lend.targets.cpu.entry_names import SUPPORT, support_name
from lend.targets.cpu.python_abi import PythonAbi


def support_code(plain_owners: tuple[type, ...], abi: PythonAbi) -> tuple[str, list[Any]]:
    """The module's text and its objects. `plain_owners` are classes of objects that own arrays' memory and are no mappings."""
    module, table = ModuleBuilder(), ObjectTable()
    writers: dict[str, Callable[[EntryBuilder], None]] = {
        "miss": _miss,
        "match": _match,
        "captured": _captured,
        "attribute": _attribute,
        "dtype": _dtype,
        "owned": lambda b: _owned(b, plain_owners),
        "tested": _tested,
        "unlocked": _unlocked,
        "fault": _fault,
        "written": _written,
        "told": _told,
    }
    for name, write in writers.items():
        b = EntryBuilder(module, abi, table)
        write(b)
        result, types = SUPPORT[name]
        parameters = ", ".join(f"{type} %{k}" for k, type in enumerate(types.split(", "), 1))
        module.add_function(f"define {result} @{support_name(name)}({parameters}) nounwind {{\n{b.body()}\n}}")
    table.declare(module)
    return module.text(), table.objects


# ---------------------------------------------------------------------------------------------------- calls that miss


def _miss(b: EntryBuilder) -> None:
    """(callable, args, nargsf, kwnames): its class's `__call__`, a Python function, with the callable before the arguments."""
    given = b.emit(f"and i64 %3, {(1 << 63) - 1}")
    count = b.emit(f"add i64 {given}, 1")
    function = b.api("PyObject_GetAttr", b.type_of("%1"), b.object("__call__"))
    absent, there = b.new_block("absent"), b.new_block("there")
    b.branch(b.emit(f"icmp eq ptr {function}, null"), absent, there)
    b.open(absent)
    b.ret("ptr null")
    b.open(there)
    result = _called_with(b, function, given, count)
    b.api("Py_DecRef", function)
    b.ret(f"ptr {result}")


def _called_with(b: EntryBuilder, function: str, given: str, count: str) -> str:
    in_place, copied, done = b.new_block("in_place"), b.new_block("copied"), b.new_block("done")
    b.branch(b.emit("icmp slt i64 %3, 0"), in_place, copied)  # PY_VECTORCALL_ARGUMENTS_OFFSET: the word before is ours to use
    b.open(in_place)
    first = b.offset("%2", -8)
    saved = b.field("ptr", first, 0)
    b.put("ptr", "%1", first, 0)
    direct = b.api("PyObject_Vectorcall", function, first, count, "%4")
    b.put("ptr", saved, first, 0)
    from_place = b.block
    b.jump(done)
    b.open(copied)
    b.module.declare("llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    words = b.emit(f"add i64 {given}, {_names(b, '%4')}")
    bytes = b.emit(f"shl i64 {words}, 3")
    memory = b.api("PyMem_Malloc", b.emit(f"add i64 {bytes}, 8"))
    full, there = b.new_block("no_memory"), b.new_block("memory")
    b.branch(b.emit(f"icmp eq ptr {memory}, null"), full, there)
    b.open(full)
    nothing = b.api("PyErr_NoMemory")
    b.jump(done)
    b.open(there)
    b.put("ptr", "%1", memory, 0)
    b.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {b.offset(memory, 8)}, ptr %2, i64 {bytes}, i1 false)")
    result = b.api("PyObject_Vectorcall", function, memory, count, "%4")
    b.api("PyMem_Free", memory)
    from_copy = b.block
    b.jump(done)
    b.open(done)
    return b.emit(f"phi ptr [ {direct}, %{from_place} ], [ {nothing}, %{full} ], [ {result}, %{from_copy} ]")


def _names(b: EntryBuilder, kwnames: str) -> str:
    """How many keywords there are."""
    names, counted, before = b.new_block("names"), b.new_block("counted"), b.block
    b.branch(b.emit(f"icmp eq ptr {kwnames}, null"), counted, names)
    b.open(names)
    count = b.api("PyTuple_Size", kwnames)
    b.jump(counted)
    b.open(counted)
    return b.emit(f"phi i64 [ 0, %{before} ], [ {count}, %{names} ]")


# -------------------------------------------------------------------------------------------------------- keywords


def _match(b: EntryBuilder) -> None:
    """(args, given, kwnames, slots, names, defaults, count, positional): arguments by position and name, then defaults."""
    b.require(b.emit("icmp ule i64 %2, %8"))
    b.loop("%7", lambda k: _place_positional(b, k))
    b.loop(_names(b, "%3"), lambda k: _place_named(b, k))
    b.loop("%7", lambda k: _place_default(b, k))
    b.ret("i1 true")
    b.open(MISS)
    b.ret("i1 false")


def _place_positional(b: EntryBuilder, k: str) -> None:
    there, absent, on = b.new_block("there"), b.new_block("absent"), b.new_block("on")
    slot = b.element("%4", k)
    b.branch(b.emit(f"icmp ult i64 {k}, %2"), there, absent)
    b.open(there)
    b.put("ptr", b.field("ptr", b.element("%1", k), 0), slot, 0)
    b.jump(on)
    b.open(absent)
    b.put("ptr", "null", slot, 0)
    b.jump(on)
    b.open(on)


def _place_named(b: EntryBuilder, k: str) -> None:
    name = b.api("PyTuple_GetItem", "%3", k)
    # Names are compared by identity: those in calls are interned, as the parameters' are.
    search, other, found = b.new_block("search"), b.new_block("other"), b.new_block("found")
    before, place, following = b.block, b.fresh("place"), b.fresh("following")
    b.jump(search)
    b.open(search)
    b.append(f"{place} = phi i64 [ 0, %{before} ], [ {following}, %{other} ]")
    b.require(b.emit(f"icmp ult i64 {place}, %7"))
    same = b.emit(f"icmp eq ptr {name}, {b.field('ptr', b.element('%5', place), 0)}")
    b.branch(same, found, other)
    b.open(other)
    b.append(f"{following} = add i64 {place}, 1")
    b.jump(search)
    b.open(found)
    slot = b.element("%4", place)
    b.require_same("ptr", b.field("ptr", slot, 0), "null")
    b.put("ptr", b.field("ptr", b.element("%1", b.emit(f"add i64 %2, {k}")), 0), slot, 0)


def _place_default(b: EntryBuilder, k: str) -> None:
    fill, on = b.new_block("fill"), b.new_block("on")
    slot = b.element("%4", k)
    b.branch(b.emit(f"icmp eq ptr {b.field('ptr', slot, 0)}, null"), fill, on)
    b.open(fill)
    default = b.field("ptr", b.element("%6", k), 0)
    b.require(b.emit(f"icmp ne ptr {default}, null"))
    b.put("ptr", default, slot, 0)
    b.jump(on)
    b.open(on)


# --------------------------------------------------------------------------------------------------- captured values


def _captured(b: EntryBuilder) -> None:
    """(dict, names, values, count): whether the names have these very values."""

    def look(k: str) -> None:
        value = b.api("PyDict_GetItemWithError", "%1", b.field("ptr", b.element("%2", k), 0))
        b.require_same("ptr", value, b.field("ptr", b.element("%3", k), 0))

    b.loop("%4", look)
    b.ret("i1 true")
    b.open(MISS)
    b.api("PyErr_Clear")
    b.ret("i1 false")


def _attribute(b: EntryBuilder) -> None:
    """(object, name, value): whether the attribute has this very value."""
    value = b.api("PyObject_GetAttr", "%1", "%2")
    b.require(b.emit(f"icmp ne ptr {value}, null"))
    b.api("Py_DecRef", value)
    b.ret(f"i1 {b.emit(f'icmp eq ptr {value}, %3')}")
    b.open(MISS)
    b.api("PyErr_Clear")
    b.ret("i1 false")


# ------------------------------------------------------------------------------------------------------------ arrays


def _dtype(b: EntryBuilder) -> None:
    """(descr, numbers): whether a dtype has one of the type numbers, of which each is a bit, and is little-endian."""
    number = b.emit(f"zext i32 {b.field('i32', '%1', b.abi.type_number, 4)} to i64")
    b.require(b.emit(f"icmp ult i64 {number}, 64"))
    bit = b.emit(f"and i64 {b.emit(f'lshr i64 %2, {number}')}, 1")
    order = b.field("i8", "%1", b.abi.byte_order, 1)
    native = b.either([b.emit(f"icmp eq i8 {order}, {ord(known)}") for known in "=<|"])
    b.ret(f"i1 {b.all_of([native, b.emit(f'icmp ne i64 {bit}, 0')])}")
    b.open(MISS)
    b.ret("i1 false")


def _owned(b: EntryBuilder, plain_owners: tuple[type, ...]) -> None:
    """(base): follow the owners of memory: arrays, then nothing or an object that is known not to be a mapping."""
    loop, some, array, other, fine = (b.new_block(hint) for hint in ("loop", "some", "array", "other", "fine"))
    owner, following = b.fresh("owner"), b.fresh("base")
    before = b.block
    b.jump(loop)
    b.open(loop)
    b.append(f"{owner} = phi ptr [ %1, %{before} ], [ {following}, %{array} ]")
    b.branch(b.emit(f"icmp eq ptr {owner}, null"), fine, some)
    b.open(some)
    type = b.type_of(owner)
    b.branch(b.emit(f"icmp eq ptr {type}, {b.object(np.ndarray)}"), array, other)
    b.open(array)
    b.append(f"{following} = load ptr, ptr {b.offset(owner, b.abi.base)}, align 8")
    b.jump(loop)
    b.open(other)
    plain = b.either([b.emit(f"icmp eq ptr {type}, {b.object(known)}") for known in plain_owners])
    b.ret(f"i1 {plain}")
    b.open(fine)
    b.ret("i1 true")


# -------------------------------------------------------------------------------------------------------- the kernel


def _tested(b: EntryBuilder) -> None:
    """(test, elements, count, limit): test index arrays while other Python threads may run."""
    state = b.api("PyEval_SaveThread")
    verdict = b.emit("call i32 %1(ptr %2, i64 %3, i64 %4)")
    b.api("PyEval_RestoreThread", state)
    b.ret(f"i32 {verdict}")


def _unlocked(b: EntryBuilder) -> None:
    """(kernel, words, results, fault): run the kernel while other Python threads may run."""
    state = b.api("PyEval_SaveThread")
    status = b.emit("call i32 %1(ptr %2, ptr %3, ptr %4)")
    b.api("PyEval_RestoreThread", state)
    b.ret(f"i32 {status}")


def _fault(b: EntryBuilder) -> None:
    """(callback, record): the callback raises, and so does a lack of memory."""
    there, raised = b.new_block("there"), b.new_block("raised")
    copy = b.api("PyBytes_FromStringAndSize", "%2", str(8 * FAULT_WORDS))
    b.branch(b.emit(f"icmp eq ptr {copy}, null"), raised, there)
    b.open(there)
    b.api("PyObject_CallOneArg", "%1", copy)
    b.api("Py_DecRef", copy)
    b.jump(raised)
    b.open(raised)
    b.ret("ptr null")


# ----------------------------------------------------------------------------------------------------------- devices


def _written(b: EntryBuilder) -> None:
    """(memory): count that it was lent for writing."""
    name = b.object("writes")
    before = b.api("PyObject_GetAttr", "%1", name)
    b.require(b.emit(f"icmp ne ptr {before}, null"))
    after = b.api("PyNumber_Add", before, b.object(1))
    b.api("Py_DecRef", before)
    b.require(b.emit(f"icmp ne ptr {after}, null"))
    status = b.api("PyObject_SetAttr", "%1", name, after)
    b.api("Py_DecRef", after)
    b.require_same("i32", status, "0")
    b.ret("i1 true")
    b.open(MISS)
    b.api("PyErr_Clear")
    b.ret("i1 false")


def _told(b: EntryBuilder) -> None:
    """(callback, words, bytes): what the callback gives for a copy of the words; null if it raises."""
    there, raised = b.new_block("there"), b.new_block("raised")
    copy = b.api("PyBytes_FromStringAndSize", "%2", "%3")
    b.branch(b.emit(f"icmp eq ptr {copy}, null"), raised, there)
    b.open(there)
    result = b.api("PyObject_CallOneArg", "%1", copy)
    b.api("Py_DecRef", copy)
    b.ret(f"ptr {result}")
    b.open(raised)
    b.ret("ptr null")
