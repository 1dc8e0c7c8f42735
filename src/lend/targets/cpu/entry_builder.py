"""A writer of LLVM IR for entry points: guards that leave for the next entry, objects by address, calls of Python's API.

Does: what all parts of an entry point share.  Does not: know arguments (`entry_arguments.py`) or the function as a whole
(`entry.py`).
Invariants: until the kernel runs, nothing is changed that anyone else sees, so that every guard may give up; addresses of this
process stand in the table `OBJECTS` alone, which whoever loads the code fills.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lend.lower.arithmetic import ScalarEmitter
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.targets.cpu.entry_names import OBJECTS, SUPPORT, Address, Support
from lend.targets.cpu.python_abi import TYPE, PythonAbi

MISS = "miss"
"""The block where a guard goes that fails."""

_EXPECTED = (2000, 1)

_SIGNATURES: dict[str, tuple[str, str]] = {
    "Py_IncRef": ("void", "ptr"),
    "Py_DecRef": ("void", "ptr"),
    "PyErr_Clear": ("void", ""),
    "PyErr_NoMemory": ("ptr", ""),
    "PyMem_Malloc": ("ptr", "i64"),
    "PyMem_Free": ("void", "ptr"),
    "PyObject_Vectorcall": ("ptr", "ptr, ptr, i64, ptr"),
    "PyObject_CallOneArg": ("ptr", "ptr, ptr"),
    "PyObject_CallNoArgs": ("ptr", "ptr"),
    "PyObject_SetAttr": ("i32", "ptr, ptr, ptr"),
    "PyNumber_Add": ("ptr", "ptr, ptr"),
    "PyObject_GetAttr": ("ptr", "ptr, ptr"),
    "PyBytes_FromStringAndSize": ("ptr", "ptr, i64"),
    "PyDict_GetItemWithError": ("ptr", "ptr, ptr"),
    "PyTuple_New": ("ptr", "i64"),
    "PyTuple_SetItem": ("i32", "ptr, i64, ptr"),
    "PyTuple_GetItem": ("ptr", "ptr, i64"),
    "PyTuple_Size": ("i64", "ptr"),
    "PyLong_AsLongLongAndOverflow": ("i64", "ptr, ptr"),
    "PyLong_FromLongLong": ("ptr", "i64"),
    "PyLong_FromUnsignedLongLong": ("ptr", "i64"),
    "PyFloat_FromDouble": ("ptr", "double"),
    "PyComplex_FromDoubles": ("ptr", "double, double"),
    "PyBool_FromLong": ("ptr", "i64"),
    "PyEval_SaveThread": ("ptr", ""),
    "PyEval_RestoreThread": ("void", "ptr"),
}


class ObjectTable:
    """What the table of a module holds."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.weights: dict[tuple[int, int], str] = {}  # metadata of the module
        self._places: dict[Any, int] = {}

    def shared(self, value: Any) -> int:
        """The place of an object or address."""
        key = value if isinstance(value, Address) else id(value)
        if key not in self._places:
            self._places[key] = self.row([value])
        return self._places[key]

    def row(self, values: list[Any]) -> int:
        """The first of new places, side by side."""
        self.objects += values
        return len(self.objects) - len(values)

    def declare(self, module: ModuleBuilder) -> None:
        """Add the table to its module."""
        module.declare(OBJECTS, f"@{OBJECTS} = global [{max(len(self.objects), 1)} x ptr] zeroinitializer")


class EntryBuilder(FunctionBuilder):
    """One function over Python objects."""

    def __init__(self, module: ModuleBuilder, abi: PythonAbi, table: ObjectTable, helpers: Support | None = None) -> None:
        super().__init__(module)
        self.abi = abi
        self.table = table
        self.helpers = helpers
        self.scalars = ScalarEmitter(self, "strict")

    # ------------------------------------------------------------------------------------------- objects

    def place(self, slot: int) -> str:
        """The address of a place of the table."""
        return f"getelementptr (i8, ptr @{OBJECTS}, i64 {8 * slot})"

    def at_slot(self, slot: int) -> str:
        """What stands in a place of the table."""
        return self.emit(f"load ptr, ptr {self.place(slot)}")

    def object(self, value: Any) -> str:
        """The address of an object."""
        return self.at_slot(self.table.shared(value))

    def address(self, value: int) -> str:
        """An address of something that is no Python object."""
        return self.object(Address(value))

    # ------------------------------------------------------------------------------------------- memory

    def offset(self, pointer: str, bytes: int) -> str:
        """`pointer + bytes`."""
        return pointer if bytes == 0 else self.emit(f"getelementptr i8, ptr {pointer}, i64 {bytes}")

    def element(self, pointer: str, index: str) -> str:
        """The address of a word of an array."""
        return self.emit(f"getelementptr i64, ptr {pointer}, i64 {index}")

    def field(self, llvm: str, pointer: str, offset: int, align: int = 8) -> str:
        """A field of what `pointer` points to."""
        return self.emit(f"load {llvm}, ptr {self.offset(pointer, offset)}, align {align}")

    def put(self, llvm: str, value: str, pointer: str, offset: int) -> None:
        """Set a field."""
        self.append(f"store {llvm} {value}, ptr {self.offset(pointer, offset)}, align 8")

    def type_of(self, value: str) -> str:
        """The type of an object."""
        return self.field("ptr", value, TYPE)

    # ------------------------------------------------------------------------------------------- guards

    def branch(
        self, condition: str, then: str, orelse: str, weights: tuple[int, int] | None = None, properties: tuple[str, ...] = ()
    ) -> None:
        """Close the block; weights are written down once."""
        if weights is None:
            super().branch(condition, then, orelse, properties=properties)
            return
        if weights not in self.table.weights:
            self.table.weights[weights] = self.module.metadata(f'!{{!"branch_weights", i32 {weights[0]}, i32 {weights[1]}}}')
        super().branch(condition, then, f"{orelse}, !prof {self.table.weights[weights]}")

    def require(self, condition: str) -> None:
        """Go on if `condition`, else to the next entry."""
        on = self.new_block("on")
        self.branch(condition, on, MISS, _EXPECTED)
        self.open(on)

    def require_same(self, llvm: str, left: str, right: str) -> None:
        """Go on if both are equal."""
        self.require(self.emit(f"icmp eq {llvm} {left}, {right}"))

    def loop(self, count: str, body: Callable[[str], None]) -> None:
        """`body(k)` for k from 0 to before the i64 `count`."""
        head, inside, last, done = (self.new_block(hint) for hint in ("head", "inside", "last", "done"))
        index, following, before = self.fresh("index"), self.fresh("following"), self.block
        self.jump(head)
        self.open(head)
        self.append(f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{last} ]")
        self.branch(self.emit(f"icmp slt i64 {index}, {count}"), inside, done)
        self.open(inside)
        body(index)
        self.jump(last)
        self.open(last)
        self.append(f"{following} = add i64 {index}, 1")
        self.jump(head)
        self.open(done)

    def either(self, conditions: list[str]) -> str:
        """Whether one of the conditions holds."""
        return self._fold("or", conditions)

    def all_of(self, conditions: list[str]) -> str:
        """Whether all conditions hold."""
        return self._fold("and", conditions)

    def _fold(self, operator: str, conditions: list[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.emit(f"{operator} i1 {result}, {condition}")
        return result

    # ------------------------------------------------------------------------------------------- integers

    def exact(self, operation: str, left: str, right: str) -> str:
        """`sadd`, `ssub` or `smul` of two i64; where the result is no i64, the next entry decides."""
        name = f"llvm.{operation}.with.overflow.i64"
        self.module.declare(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        both = self.emit(f"call {{i64, i1}} @{name}(i64 {left}, i64 {right})")
        wrapped = self.emit(f"extractvalue {{i64, i1}} {both}, 1")
        self.require(self.emit(f"xor i1 {wrapped}, true"))
        return self.emit(f"extractvalue {{i64, i1}} {both}, 0")

    def floor_division(self, left: str, right: str) -> tuple[str, str]:
        """`left // right` and `left % right` as Python has them; the next entry decides where an i64 does not suffice."""
        self.require(self.emit(f"icmp ne i64 {right}, 0"))
        minus_one = self.emit(f"icmp ne i64 {right}, -1")
        self.require(self.emit(f"or i1 {minus_one}, {self.emit(f'icmp ne i64 {left}, {-(1 << 63)}')}"))
        quotient = self.emit(f"sdiv i64 {left}, {right}")
        rest = self.emit(f"srem i64 {left}, {right}")
        inexact = self.emit(f"icmp ne i64 {rest}, 0")
        differ = self.emit(f"icmp slt i64 {self.emit(f'xor i64 {rest}, {right}')}, 0")
        lower = self.emit(f"and i1 {inexact}, {differ}")
        down = self.emit(f"sext i1 {lower} to i64")
        correction = self.emit(f"select i1 {lower}, i64 {right}, i64 0")
        return self.emit(f"add i64 {quotient}, {down}"), self.emit(f"add i64 {rest}, {correction}")

    # ------------------------------------------------------------------------------------------- calls

    def support(self, function: str, *arguments: str) -> str:
        """Call a function of `Support`; gives its result."""
        result, types = SUPPORT[function]
        text = ", ".join(f"{type} {value}" for type, value in zip(types.split(", "), arguments, strict=True))
        return self.emit(f"call {result} {self.address(getattr(self.helpers, function))}({text})")

    def api(self, name: str, *arguments: str) -> str:
        """Call a function of Python's API; gives its result (nothing for `void`)."""
        result, parameters = _SIGNATURES[name]
        self.module.declare(name, f"declare {result} @{name}({parameters}) nounwind")
        types = parameters.split(", ") if parameters else []
        text = ", ".join(f"{type} {value}" for type, value in zip(types, arguments, strict=True))
        if result == "void":
            self.append(f"call void @{name}({text})")
            return ""
        return self.emit(f"call {result} @{name}({text})")
