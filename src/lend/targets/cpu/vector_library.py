"""glibc's vector mathematics: which functions may replace scalar ones inside vectorised loops.

Does: find `libmvec`'s variants at run time and attach them to the functions that `lower/math.py` marked.  Does not: decide
whether a kernel may use them (its math mode did).
Invariants: only variants of the vector widths that the machine has are offered: a variant of another width would be called with
its arguments in the wrong registers. What is offered is within 3 units in the last place (measured: `COARSE`, `THROUGH_F64`).

The names follow the x86-64 and AArch64 vector function ABIs: `_ZGV` set `N` lanes, a `v` per argument, `_` function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from lend.lower.math import VECTOR_MARK
from lend.targets.cpu.libraries import load_libraries
from lend.targets.cpu.machine import Machine

COARSE = frozenset(("cbrt", "erfc"))
"""f64 functions whose vector variants err by 4 or 5 units in the last place: not used."""

THROUGH_F64 = frozenset(("tanf", "atan2f", "erff"))
"""f32 functions whose vector variants err by more than 3 units: the f64 ones are used, on halves of the vectors."""

_MARKED = re.compile(r"^declare (float|double) @(\w+)\(([^)]*)\)(.*?) " + re.escape(VECTOR_MARK) + r"(.*)$", re.MULTILINE)
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
    if not symbols:
        return ir
    # The optimiser drops functions that nothing uses, and looks the variants up only later.
    names = ", ".join(f"ptr @{symbol}" for symbol in symbols)
    kept = f'@llvm.compiler.used = appending global [{len(symbols)} x ptr] [{names}], section "llvm.metadata"'
    return "\n".join([ir, *texts.values(), kept, ""])


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
