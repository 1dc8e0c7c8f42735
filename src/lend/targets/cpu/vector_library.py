"""glibc's vector mathematics: which functions may replace scalar ones inside vectorised loops.

Does: find `libmvec`'s variants at run time and attach them to the functions that `lower/math.py` marked; define the functions of
vectors that `lower/tiles/widen.py` calls (`@lend.lanes.8.exp`).
Does not: decide whether a kernel may use them: its math mode did.
Invariants: only variants of the vector widths that the machine has are offered: a variant of another width would be called with
its arguments in the wrong registers. What is offered is within 3 units in the last place (measured: `COARSE`, `THROUGH_F64`).

The names follow the x86-64 and AArch64 vector function ABIs: `_ZGV` set `N` lanes, a `v` per argument, `_` function.
"""

from __future__ import annotations

import re
from functools import cache

import llvmlite.binding as llvm

from lend.diagnostics.records import dataclass
from lend.lower.math import VECTOR_MARK
from lend.targets.cpu.libraries import load_libraries
from lend.targets.cpu.machine import Machine

COARSE = frozenset(("cbrt", "erfc"))
"""f64 functions whose vector variants err by 4 or 5 units in the last place: not used."""

THROUGH_F64 = frozenset(("tanf", "atan2f", "erff"))
"""f32 functions whose vector variants err by more than 3 units: the f64 ones are used, on halves of the vectors."""

_MARKED = re.compile(r"^declare (float|double) @(\w+)\(([^)]*)\)(.*?) " + re.escape(VECTOR_MARK) + r"(.*)$", re.MULTILINE)
_LANES = re.compile(
    r"^declare <(\d+) x (float|double)> @lend\.lanes\.\d+\.(\w+)\(([^)]*)\) (.*?) ?" + re.escape(VECTOR_MARK) + "$", re.MULTILINE
)
_PURE = "nounwind willreturn memory(none)"


@dataclass(frozen=True)
class _Variant:
    """A vector function: its name by the ABI, the function that it is, and the module's texts it takes, by symbol."""

    mangled: str
    symbol: str
    texts: tuple[tuple[str, str], ...]


def attach(ir: str, machine: Machine) -> str:
    """`ir` with each marked declaration's vector variants declared and named; the marks are gone."""
    texts: dict[str, str] = {}
    symbols: list[str] = []

    def replace(match: re.Match[str]) -> str:
        type, name, parameters, before, after = match.groups()
        found = _variants(machine, name, type, len(parameters.split(",")))
        for variant in found:
            texts.update(variant.texts)
            symbols.append(variant.symbol)
        mappings = ",".join(f"{variant.mangled}({variant.symbol})" for variant in found)
        attribute = f' "vector-function-abi-variant"="{mappings}"' if found else ""
        return f"declare {type} @{name}({parameters}){before}{attribute}{after}"

    ir = _MARKED.sub(replace, ir)
    ir = _LANES.sub(lambda match: _define(machine, match, texts, ir), ir)
    if texts and not symbols:
        ir = "\n".join([ir, *texts.values(), ""])
    if not symbols:
        return ir
    # The optimiser drops functions that nothing uses, and looks the variants up only later.
    names = ", ".join(f"ptr @{symbol}" for symbol in symbols)
    kept = f'@llvm.compiler.used = appending global [{len(symbols)} x ptr] [{names}], section "llvm.metadata"'
    return "\n".join([ir, *texts.values(), kept, ""])


def _define(machine: Machine, match: re.Match[str], texts: dict[str, str], ir: str) -> str:
    """A function of a vector, as calls of the widest variant that fits into it, or of the scalar function."""
    lanes, type, name, parameters, _ = match.groups()
    whole, count = f"<{lanes} x {type}>", parameters.count("<")
    fitting = [
        (size, variant) for variant in _variants(machine, name, type, count) if int(lanes) % (size := _lanes_of(variant)) == 0
    ]
    heading = f"define internal {whole} @lend.lanes.{lanes}.{name}({', '.join(f'{whole} %a{k}' for k in range(count))})"
    lines = [f"{heading} alwaysinline {_PURE} {{"]
    if fitting:
        size, variant = max(fitting, key=lambda pair: pair[0])
        texts.update(variant.texts)
        lines += _in_parts(variant, int(lanes), size, type, count)
    else:
        if f"@{name}(" not in ir:
            texts[name] = f"declare {type} @{name}({', '.join([type] * count)}) {_PURE}"
        lines += _one_by_one(name, int(lanes), type, count)
    return "\n".join([*lines, "}"])


def _lanes_of(variant: _Variant) -> int:
    match = re.match(r"_ZGV\wN(\d+)", variant.mangled)
    assert match is not None
    return int(match[1])


def _in_parts(variant: _Variant, lanes: int, size: int, type: str, count: int) -> list[str]:
    """Calls of a variant of `size` lanes."""
    whole, part = f"<{lanes} x {type}>", f"<{size} x {type}>"
    convention = "aarch64_vector_pcs " if variant.mangled.startswith("_ZGVn") else ""
    if size == lanes:
        arguments = ", ".join(f"{whole} %a{k}" for k in range(count))
        return [f"  %r = call {convention}{whole} @{variant.symbol}({arguments})", f"  ret {whole} %r"]
    lines: list[str] = []
    joined = [f"%r{piece}" for piece in range(lanes // size)]
    for piece in range(lanes // size):
        positions = ", ".join(f"i32 {piece * size + lane}" for lane in range(size))
        for k in range(count):
            lines.append(f"  %p{piece}.{k} = shufflevector {whole} %a{k}, {whole} poison, <{size} x i32> <{positions}>")
        arguments = ", ".join(f"{part} %p{piece}.{k}" for k in range(count))
        lines.append(f"  %r{piece} = call {convention}{part} @{variant.symbol}({arguments})")
    while len(joined) > 1:
        size *= 2
        positions = ", ".join(f"i32 {lane}" for lane in range(size))
        pairs = list(zip(joined[::2], joined[1::2], strict=True))
        joined = [f"{a}.{size}" for a, _ in pairs]
        for target, (a, b) in zip(joined, pairs, strict=True):
            half = f"<{size // 2} x {type}>"
            lines.append(f"  {target} = shufflevector {half} {a}, {half} {b}, <{size} x i32> <{positions}>")
    return [*lines, f"  ret {whole} {joined[0]}"]


def _one_by_one(name: str, lanes: int, type: str, count: int) -> list[str]:
    """Calls of the scalar function."""
    whole, result = f"<{lanes} x {type}>", "poison"
    lines: list[str] = []
    for lane in range(lanes):
        for k in range(count):
            lines.append(f"  %x{lane}.{k} = extractelement {whole} %a{k}, i64 {lane}")
        arguments = ", ".join(f"{type} %x{lane}.{k}" for k in range(count))
        lines.append(f"  %y{lane} = call {type} @{name}({arguments})")
        lines.append(f"  %r{lane} = insertelement {whole} {result}, {type} %y{lane}, i64 {lane}")
        result = f"%r{lane}"
    return [*lines, f"  ret {whole} {result}"]


def _widths(machine: Machine) -> list[tuple[str, int, str]]:
    """(letter of the instruction set, bits of a vector, calling convention), narrow to wide."""
    if machine.architecture == "aarch64":
        return [("n", 128, "aarch64_vector_pcs ")]
    if machine.architecture != "x86_64":
        return []
    features = machine.features.split(",")
    widths = [("b", 128, "")]
    if "+avx2" in features:
        widths.append(("d", 256, ""))
    elif "+avx" in features:
        widths.append(("c", 256, ""))
    if "+avx512f" in features:
        widths.append(("e", 512, ""))
    return widths


@cache
def _variants(machine: Machine, name: str, type: str, count: int) -> tuple[_Variant, ...]:
    """The variants of one function that exist and are exact enough."""
    if name in COARSE:
        return ()
    if name in THROUGH_F64:
        return tuple(_wide(variant, name, count) for variant in _found(machine, name[:-1], "double", count))
    return _found(machine, name, type, count)


def _found(machine: Machine, name: str, type: str, count: int) -> tuple[_Variant, ...]:
    load_libraries()
    found: list[_Variant] = []
    for letter, bits, convention in _widths(machine):
        lanes = bits // (32 if type == "float" else 64)
        symbol = f"_ZGV{letter}N{lanes}{'v' * count}_{name}"
        # For another architecture nothing can be looked up; such code is only looked at, never run.
        if not machine.is_host_architecture or llvm.address_of_symbol(symbol):
            vector = f"<{lanes} x {type}>"
            text = f"declare {convention}{vector} @{symbol}({', '.join([vector] * count)}) {_PURE}"
            found.append(_Variant(symbol, symbol, ((symbol, text),)))
    return tuple(found)


def _wide(half: _Variant, name: str, count: int) -> _Variant:
    """An f32 variant of twice the lanes, made of two calls of an f64 one."""
    match = re.fullmatch(r"_ZGV(\w)N(\d+)v+_\w+", half.symbol)
    assert match is not None
    letter, lanes = match[1], int(match[2])
    whole, part, single = f"<{2 * lanes} x float>", f"<{lanes} x double>", f"<{lanes} x float>"
    convention = "aarch64_vector_pcs " if letter == "n" else ""
    symbol = f"lend.{name}.{2 * lanes}"
    lines = [f"define internal {convention}{whole} @{symbol}({', '.join(f'{whole} %a{k}' for k in range(count))}) {_PURE} {{"]
    for side in range(2):
        positions = ", ".join(f"i32 {side * lanes + lane}" for lane in range(lanes))
        for k in range(count):
            lines.append(f"  %s{side}{k} = shufflevector {whole} %a{k}, {whole} poison, <{lanes} x i32> <{positions}>")
            lines.append(f"  %d{side}{k} = fpext {single} %s{side}{k} to {part}")
        arguments = ", ".join(f"{part} %d{side}{k}" for k in range(count))
        lines.append(f"  %r{side} = call {convention}{part} @{half.symbol}({arguments})")
        lines.append(f"  %f{side} = fptrunc {part} %r{side} to {single}")
    positions = ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
    lines.append(f"  %r = shufflevector {single} %f0, {single} %f1, <{2 * lanes} x i32> <{positions}>")
    lines += [f"  ret {whole} %r", "}"]
    mangled = f"_ZGV{letter}N{2 * lanes}{'v' * count}_{name}"
    return _Variant(mangled, symbol, (*half.texts, (symbol, "\n".join(lines))))
