"""Scalar instructions -> the same instructions on vectors.

Does: stand in for a function's builder while scalar operations are written, and write each instruction on `lanes` values at
once; so every operator, cast and function means in a vector what it means for one value, because it is the same text.
Does not: memory accesses, control flow, complex values (`CannotWiden`).
Invariants: operands that are names hold vectors already, literals are spread. What has no vector form (a function of C
in strict mode, a helper with a loop) is called lane by lane.

Example: `fadd contract double %a, 0x3FF0000000000000` becomes
`fadd contract <8 x double> %a, splat (double 0x3FF0000000000000)`.
"""

from __future__ import annotations

import re

from lend.lower.arithmetic import ScalarEmitter
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.math import VECTOR_MARK

VECTOR_FUNCTION = "lend.lanes"
"""`@lend.lanes.8.exp` is `exp` of 8 values; a target defines such functions (`targets/cpu/vector_library.py`)."""

_TYPE = r"float|double|half|i1|i8|i16|i32|i64"
_OPERAND = r"%[\w.$-]+|-?[\w.+-]+"
_TYPED = re.compile(rf"\b({_TYPE}) ({_OPERAND})")
_SECOND = re.compile(rf"^((?:\w+ )+)({_TYPE}) ({_OPERAND}), ({_OPERAND})$")
_CAST = re.compile(rf"^(\w+) ({_TYPE}) ({_OPERAND}) to ({_TYPE})$")
_UNARY = re.compile(rf"^(fneg (?:\w+ )*)({_TYPE}) ({_OPERAND})$")
_SELECT = re.compile(rf"^(select (?:\w+ )*)({_TYPE}) ({_OPERAND}), ({_TYPE}) ({_OPERAND}), ({_TYPE}) ({_OPERAND})$")
_CALL = re.compile(rf"^call ((?:\w+ )*)({_TYPE}) @([\w.]+)\((.*)\)( nobuiltin)?$")
_CALLED = re.compile(r"@([\w.]+)\(")
_BLOCK = re.compile(r"^(br |\w[\w.]*:$|switch |.* = phi )")


class CannotWiden(Exception):
    """An instruction that has no vector form here."""


def spread(lanes: int, type: str, operand: str) -> str:
    """An operand of a vector instruction: a name as it is, a literal in every lane."""
    return operand if operand.startswith("%") or "splat" in operand else f"splat ({type} {operand})"


def vector_type(lanes: int, type: str) -> str:
    """`<8 x double>`."""
    return f"<{lanes} x {type}>"


class WideBuilder(FunctionBuilder):
    """A builder whose instructions become vector instructions of another builder."""

    def __init__(self, builder: FunctionBuilder, lanes: int) -> None:
        self._functions = _WideModule(builder.module, lanes)
        super().__init__(self._functions)
        self._builder = builder
        self._lanes = lanes

    def emit(self, text: str, hint: str = "v") -> str:
        """Append `%name = text`, widened."""
        call = _CALL.match(text)
        return self._call(call, hint) if call else self._builder.emit(widened(text, self._lanes), hint)

    def append(self, text: str) -> None:
        """There are no instructions without results among those that widen."""
        raise CannotWiden(text)

    def new_block(self, hint: str = "b") -> str:
        """Nor is there control flow."""
        raise CannotWiden(hint)

    def _call(self, match: re.Match[str], hint: str) -> str:
        flags, result, name, arguments, suffix = match.groups()
        wide = self._functions.function(name)
        if wide is None:
            return self._by_lane(result, name, _TYPED.findall(arguments), suffix or "")
        operands = _call_operands(self._lanes, name, arguments)
        if name.startswith("llvm."):
            parameters = ", ".join(_parameter_type(o) for o in operands)
            self._functions.add(wide, f"declare {vector_type(self._lanes, result)} @{wide}({parameters})")
        return self._builder.emit(f"call {flags}{vector_type(self._lanes, result)} @{wide}({', '.join(operands)})", hint)

    def _by_lane(self, result: str, name: str, arguments: list[tuple[str, str]], suffix: str) -> str:
        """Call a scalar function for each lane."""
        emit = self._builder.emit
        vector = vector_type(self._lanes, result)
        whole = "poison"
        for lane in range(self._lanes):
            operands: list[str] = []
            for type, operand in arguments:
                if operand.startswith("%"):
                    operand = emit(f"extractelement {vector_type(self._lanes, type)} {operand}, i64 {lane}")
                operands.append(f"{type} {operand}")
            value = emit(f"call {result} @{name}({', '.join(operands)}){suffix}")
            whole = emit(f"insertelement {vector} {whole}, {result} {value}, i64 {lane}")
        return whole


class _WideModule(ModuleBuilder):
    """Declarations of scalar functions, and the vector functions that stand for them."""

    def __init__(self, module: ModuleBuilder, lanes: int) -> None:
        super().__init__(module.dialect)
        self._module = module
        self._lanes = lanes
        self._texts: dict[str, str] = {}

    def declare(self, name: str, text: str) -> None:
        """Keep the scalar declaration; it is made where a scalar call needs it."""
        self._texts[name] = text

    def add(self, name: str, text: str) -> None:
        """A vector declaration."""
        self._module.declare(name, text)

    def function(self, name: str) -> str | None:
        """The vector function for a scalar one; None if it has to be called lane by lane."""
        if name.startswith("llvm."):
            head, _, type = name.rpartition(".")
            return f"{head}.v{self._lanes}{type}"
        text = self._texts[name]
        if VECTOR_MARK in text:
            wide = f"{VECTOR_FUNCTION}.{self._lanes}.{name}"
            signature = re.match(r"declare (\w+) @\w+\(([^)]*)\)", text)
            assert signature is not None
            type, count = signature[1], len(signature[2].split(","))
            vector = vector_type(self._lanes, type)
            attributes = f"nounwind willreturn memory(none) {VECTOR_MARK}"
            self._module.declare(wide, f"declare {vector} @{wide}({', '.join([vector] * count)}) {attributes}")
            return wide
        self._declare_here(name)
        if text.startswith("define"):
            wide = f"{name}.{self._lanes}"
            body = _widened_function(text, name, wide, self._lanes, self)
            if body is not None:
                self._module.declare(wide, body)
                return wide
        return None

    def _declare_here(self, name: str) -> None:
        """The scalar function itself, and first what it calls: what is called before it is declared cannot be declared after."""
        text = self._texts[name]
        for called in _CALLED.findall(text):
            if called != name and called in self._texts:
                self._declare_here(called)
        self._module.declare(name, text)


def wide_emitter(emitter: ScalarEmitter, lanes: int) -> ScalarEmitter:
    """An emitter in the same mode whose operations work on vectors."""
    wide = ScalarEmitter(WideBuilder(emitter.builder, lanes), emitter.mode)
    wide.flags = emitter.flags
    return wide


def widened(text: str, lanes: int) -> str:
    """One instruction that is no call, on vectors."""

    def vector(type: str) -> str:
        return vector_type(lanes, type)

    if match := _SELECT.match(text):
        head, *parts = match.groups()
        pairs = [f"{vector(type)} {spread(lanes, type, o)}" for type, o in zip(parts[::2], parts[1::2], strict=True)]
        return head + ", ".join(pairs)
    if match := _CAST.match(text):
        operation, source, operand, target = match.groups()
        return f"{operation} {vector(source)} {spread(lanes, source, operand)} to {vector(target)}"
    if match := _SECOND.match(text):
        operation, type, left, right = match.groups()
        return f"{operation}{vector(type)} {spread(lanes, type, left)}, {spread(lanes, type, right)}"
    if match := _UNARY.match(text):
        operation, type, operand = match.groups()
        return f"{operation}{vector(type)} {spread(lanes, type, operand)}"
    raise CannotWiden(text)


def _call_operands(lanes: int, name: str, arguments: str) -> list[str]:
    """Arguments of a call as vectors; a flag of an intrinsic (an i1 that must be a literal) stays one."""
    operands: list[str] = []
    for type, operand in _TYPED.findall(arguments):
        immediate = name.startswith("llvm.") and type == "i1" and operand in ("true", "false")
        operands.append(f"i1 {operand}" if immediate else f"{vector_type(lanes, type)} {spread(lanes, type, operand)}")
    return operands


def _parameter_type(operand: str) -> str:
    """The declared type of an argument."""
    return "i1 immarg" if operand.startswith("i1 ") else operand[: operand.index(">") + 1]


def _widened_function(text: str, name: str, wide: str, lanes: int, module: _WideModule) -> str | None:
    """A helper of straight-line code on vectors; None if it has control flow or calls."""
    head, *lines = text.split("\n")
    out: list[str] = []
    for line in lines:
        line = line.strip()
        if line in ("entry:", "}", ""):
            continue
        if _BLOCK.match(line):
            return None
        if line.startswith("ret "):
            out.append("  " + _TYPED.sub(lambda m: f"{vector_type(lanes, m[1])} {spread(lanes, m[1], m[2])}", line))
            continue
        target, _, instruction = line.partition(" = ")
        if instruction.startswith("call "):
            return None
        try:
            out.append(f"  {target} = {widened(instruction, lanes)}")
        except CannotWiden:
            return None
    head = re.sub(rf"\b({_TYPE})\b(?= (?:%|@))", lambda m: vector_type(lanes, m[1]), head).replace(f"@{name}(", f"@{wide}(")
    return "\n".join([head, *out, "}"])
