"""PTX, run on the processor: what a driver that is none does with a module.

Does: write PTX's instructions as LLVM IR, register by register, and run a kernel's threads one after the other.
Does not: know threads that wait for each other, or every instruction: one that is not known is a KeyError when it is loaded.
Invariants: each instruction is translated by itself, from its own name; nothing is known of what wrote it.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Iterator

from lend.targets.cpu.emit import compile_module

PLACES = {f"%{name}.{axis}": 3 * k + n for k, name in enumerate(("tid", "ctaid", "ntid")) for n, axis in enumerate("xyz")}
"""Where a special register stands in what a thread is told."""

FUNCTION = re.compile(r"\.(entry|func) (?:\([^)]*\) )?(\w+)\s*\(([^)]*)\)[^{]*\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
INSTRUCTION = re.compile(r"(?:@(!?)(%p\d+) )?([a-z][\w.]*)\s*(.*)")
NUMBER = re.compile(r"-?\d+|0[fd][0-9A-F]+")

BINARY = {
    "add": "add", "sub": "sub", "mul.lo": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl", "shr.u": "lshr",
    "shr.s": "ashr", "div.s": "sdiv", "div.u": "udiv", "rem.s": "srem", "rem.u": "urem", "add.f": "fadd", "sub.f": "fsub",
    "mul.f": "fmul", "div.f": "fdiv",
}  # fmt: skip
EXTREMES = {"min.s": "smin", "max.s": "smax", "min.u": "umin", "max.u": "umax"}
SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
FLOATS = {**{name: "o" + name for name in SIGNED}, "ne": "one", "nan": "uno", "num": "ord"}
FLOATS |= {name + "u": "u" + name for name in SIGNED}


def type_of(suffix: str) -> str:
    """LLVM's type for `u32`, `f64`, `pred`."""
    if suffix == "pred":
        return "i1"
    return {"f32": "float", "f64": "double"}.get(suffix, f"i{suffix[1:]}")


def bits_of(type: str) -> int:
    """Its bits."""
    return {"float": 32, "double": 64}.get(type) or int(type[1:])


class _Function:
    """One function being written."""

    def __init__(self, name: str, is_kernel: bool, parameters: list[str], body: str) -> None:
        self.name, self.is_kernel, self.parameters = name, is_kernel, parameters
        self.registers: dict[str, int] = {}
        self.prefixes: dict[str, int] = {}
        self.slots: set[str] = set()
        self.lines: list[str] = []
        self.numbers = itertools.count()
        for line in body.splitlines():
            self.line(line.split("//")[0].strip())

    def text(self) -> str:
        taken = "ptr %parameters, ptr %thread" if self.is_kernel else ", ".join(f"i64 %{name}" for name in self.parameters)
        head = [f"  %r{name[1:]} = alloca i{bits}" for name, bits in self.registers.items()]
        head += [f"  %s.{name} = alloca i64" for name in sorted(self.slots)]
        if not self.is_kernel:
            head += [f"  %p.{n} = alloca i64\n  store i64 %{n}, ptr %p.{n}" for n in self.parameters]
        return "\n".join([f"define void @{self.name}({taken}) {{", *head, *self.lines, "  unreachable", "}", ""])

    # ------------------------------------------------------------------------------------------------------ operands

    def emit(self, text: str) -> str:
        name = f"%v{next(self.numbers)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def register(self, name: str) -> int:
        if name not in self.registers:
            self.registers[name] = self.prefixes[re.sub(r"\d+$", "", name)]
        return self.registers[name]

    def fitted(self, value: str, have: str, want: str, signed: bool = False) -> str:
        """A value as another type: its bits, or an integer of another width."""
        for float in (have, want):
            if float in ("float", "double") and have != want:
                whole = f"i{bits_of(float)}"
                if float == have:
                    return self.fitted(self.emit(f"bitcast {have} {value} to {whole}"), whole, want, signed)
                return self.emit(f"bitcast {whole} {self.fitted(value, have, whole, signed)} to {want}")
        if have == want:
            return value
        how = "trunc" if bits_of(have) > bits_of(want) else "sext" if signed else "zext"
        return self.emit(f"{how} {have} {value} to {want}")

    def value(self, operand: str, type: str, signed: bool = False) -> str:
        if operand in PLACES:
            at = self.emit(f"getelementptr i32, ptr %thread, i64 {PLACES[operand]}")
            return self.fitted(self.emit(f"load i32, ptr {at}"), "i32", type)
        if operand.startswith("%"):
            have = f"i{self.register(operand)}"
            return self.fitted(self.emit(f"load {have}, ptr %r{operand[1:]}"), have, type, signed)
        if NUMBER.fullmatch(operand):
            if operand[:2] in ("0f", "0d"):
                return self.fitted(str(int(operand[2:], 16)), "i32" if operand[1] == "f" else "i64", type)
            return self.fitted(operand, "i64", type) if type in ("float", "double") else operand
        return self.emit(f"ptrtoint ptr {self.symbol(operand)} to i64")

    def symbol(self, name: str) -> str:
        """The address of a parameter, or of one that is handed on."""
        if name not in self.parameters:
            self.slots.add(name)
            return f"%s.{name}"
        if not self.is_kernel:
            return f"%p.{name}"
        return self.emit(f"load ptr, ptr {self.emit(f'getelementptr ptr, ptr %parameters, i64 {self.parameters.index(name)}')}")

    def address(self, operand: str) -> str:
        base, _, offset = operand.strip("[]").partition("+")
        if base.startswith("%"):
            base = self.emit(f"inttoptr i64 {self.value(base, 'i64')} to ptr")
        else:
            base = self.symbol(base)
        return self.emit(f"getelementptr i8, ptr {base}, i64 {offset or 0}")

    def set(self, register: str, value: str, type: str, signed: bool = False) -> None:
        have = f"i{self.register(register)}"
        self.lines.append(f"  store {have} {self.fitted(value, type, have, signed)}, ptr %r{register[1:]}")

    # -------------------------------------------------------------------------------------------------- instructions

    def line(self, line: str) -> None:
        if (declared := re.fullmatch(r"\.reg \.(\w+)\s+(%\w+)<\d+>;", line)) is not None:
            self.prefixes[declared[2]] = bits_of(type_of(declared[1]))
        elif line.endswith(":"):
            self.lines += [f"  br label %{line[1:-1]}", f"{line[1:-1]}:"]
        elif line and line[0] not in ".{}":
            found = INSTRUCTION.fullmatch(line.rstrip(";"))
            assert found is not None, line
            operands = [part.strip() for part in re.split(r",(?![^{(]*[})])", found[4])] if found[4] else []
            self.instruction(found[1] == "!", found[2], found[3], operands)

    def instruction(self, negated: bool, predicate: str | None, name: str, operands: list[str]) -> None:
        op, *suffixes = name.split(".")
        if op == "bra":
            self.jump(predicate, negated, operands[-1][1:])
            return
        if predicate is not None:
            raise KeyError(f"{name} under a predicate")
        if op == "ret":
            self.lines += ["  ret void", f"after{next(self.numbers)}:"]
        elif op in ("ld", "st"):
            self.memory(op, suffixes, operands)
        elif op == "setp":
            self.compare(suffixes, operands)
        elif op == "call":
            handed = ", ".join(f"i64 {self.emit(f'load i64, ptr {self.symbol(n)}')}" for n in operands[1].strip("()").split(", "))
            self.lines.append(f"  call void @{operands[0]}({handed})")
        elif op == "atom":
            self.atomic(suffixes, operands)
        else:
            self.set(operands[0], *self.result(op, suffixes, operands[1:]))

    def jump(self, predicate: str | None, negated: bool, label: str) -> None:
        on = f"on{next(self.numbers)}"
        if predicate is None:
            self.lines += [f"  br label %{label}", f"{on}:"]
        else:
            test = self.value(predicate, "i1")
            first, second = (on, label) if negated else (label, on)
            self.lines += [f"  br i1 {test}, label %{first}, label %{second}", f"{on}:"]

    def memory(self, op: str, suffixes: list[str], operands: list[str]) -> None:
        type = type_of(suffixes[-1])
        place, values = operands if op == "st" else reversed(operands)
        start = self.address(place)
        for k, own in enumerate(part.strip() for part in values.strip("{}").split(",")):
            at = self.emit(f"getelementptr {type}, ptr {start}, i64 {k}")
            if op == "st":
                self.lines.append(f"  store {type} {self.value(own, type)}, ptr {at}, align 1")
            else:
                self.set(own, self.emit(f"load {type}, ptr {at}, align 1"), type, suffixes[-1][0] == "s")

    def compare(self, suffixes: list[str], operands: list[str]) -> None:
        how, suffix = suffixes
        type = type_of(suffix)
        a, b = self.value(operands[1], type), self.value(operands[2], type)
        if suffix[0] == "f":
            found = self.emit(f"fcmp {FLOATS[how]} {type} {a}, {b}")
        else:
            names = UNSIGNED if suffix[0] == "u" and how in UNSIGNED else SIGNED
            found = self.emit(f"icmp {names[how]} {type} {a}, {b}")
        self.set(operands[0], found, "i1")

    def atomic(self, suffixes: list[str], operands: list[str]) -> None:
        how, type = suffixes[-2], type_of(suffixes[-1])
        if how in ("min", "max") and suffixes[-1][0] == "u":
            how = "u" + how
        at, value = self.address(operands[1]), self.value(operands[2], type)
        self.set(operands[0], self.emit(f"atomicrmw {how} ptr {at}, {type} {value} seq_cst"), type)

    def result(self, op: str, suffixes: list[str], operands: list[str]) -> tuple[str, str]:
        kind, type = suffixes[-1][0], type_of(suffixes[-1])
        both = f"{op}.{suffixes[0]}"
        if op in ("mov", "cvta"):
            return self.value(operands[0], type), type
        if op == "cvt":
            source = suffixes[-1]
            wide = type_of(suffixes[-2])
            if "f" in (kind, suffixes[-2][0]):
                raise KeyError(f"cvt.{'.'.join(suffixes)}")
            return self.fitted(self.value(operands[0], type), type, wide, source[0] == "s"), wide
        if both == "mul.wide":
            wide = f"i{2 * bits_of(type)}"
            a, b = (self.fitted(self.value(o, type), type, wide, kind == "s") for o in operands)
            return self.emit(f"mul {wide} {a}, {b}"), wide
        if both == "mad.lo":
            a, b, c = (self.value(o, type) for o in operands)
            return self.emit(f"add {type} {self.emit(f'mul {type} {a}, {b}')}, {c}"), type
        if op == "selp":
            a, b = (self.value(o, type) for o in operands[:2])
            return self.emit(f"select i1 {self.value(operands[2], 'i1')}, {type} {a}, {type} {b}"), type
        if op == "fma":
            a, b, c = (self.value(o, type) for o in operands)
            return self.emit(f"call {type} @llvm.fma.f{bits_of(type)}({type} {a}, {type} {b}, {type} {c})"), type
        if op == "neg":
            return self.emit(f"sub {type} 0, {self.value(operands[0], type)}"), type
        if f"{op}.{kind}" in EXTREMES:
            a, b = (self.value(o, type) for o in operands)
            return self.emit(f"call {type} @llvm.{EXTREMES[f'{op}.{kind}']}.{type}({type} {a}, {type} {b})"), type
        found = BINARY.get(f"{op}.{kind}") or BINARY[both if both in BINARY else op]
        a = self.value(operands[0], type)
        if op in ("shl", "shr"):  # by an i32; by the width or more, too, PTX knows what comes
            by = self.fitted(self.value(operands[1], "i32"), "i32", type) if type != "i32" else self.value(operands[1], "i32")
            if not NUMBER.fullmatch(operands[1]):
                raise KeyError(f"{op} by a register")
            return self.emit(f"{found} {type} {a}, {by}"), type
        return self.emit(f"{found} {type} {a}, {self.value(operands[1], type)}"), type


def parts_of(text: str) -> Iterator[tuple[str, str, list[str], str]]:
    """The functions of a module: kind, name, parameters, body."""
    for kind, name, taken, body in FUNCTION.findall(text):
        yield kind, name, [re.split(r"[ \[]", part.split("[")[0].strip())[-1] for part in taken.split(",") if part.strip()], body


class Module:
    """A module: `run` runs all threads of a launch."""

    def __init__(self, text: str) -> None:
        functions = [_Function(name, kind == "entry", taken, body) for kind, name, taken, body in parts_of(text)]
        ir = [function.text() for function in functions]
        for type in ("i32", "i64"):
            ir += [f"declare {type} @llvm.{name}.{type}({type}, {type})\n" for name in EXTREMES.values()]
        ir += [f"declare {t} @llvm.fma.f{b}({t}, {t}, {t})\n" for t, b in (("float", 32), ("double", 64))]
        self._code = compile_module("".join(ir), quick=True)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._kernels = {f.name: prototype(self._code.address(f.name)) for f in functions if f.is_kernel}

    def run(self, kernel: str, parameters: int, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        """All its threads; `parameters`: the addresses of what the kernel is handed."""
        told = (ctypes.c_uint32 * 9)()
        told[6:9] = block
        for place in itertools.product(*map(range, grid)):
            told[3:6] = place
            for thread in itertools.product(*map(range, block)):
                told[0:3] = thread
                self._kernels[kernel](parameters, ctypes.addressof(told))
