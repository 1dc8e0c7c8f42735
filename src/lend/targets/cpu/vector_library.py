"""glibc's vector mathematics: which functions may replace scalar ones inside vectorised loops.

Does: find `libmvec`'s variants at run time and attach them to the functions that `lower/math.py` marked.  Does not: decide
whether a kernel may use them (its math mode did).
Invariants: only variants of the vector widths that the machine has are offered: a variant of another width would be called with
its arguments in the wrong registers.

The names follow the x86-64 and AArch64 vector function ABIs: `_ZGV` set `N` lanes, a `v` per argument, `_` function.
"""

from __future__ import annotations

import re
from functools import cache

import llvmlite.binding as llvm

from lend.lower.math import VECTOR_MARK
from lend.targets.cpu.libraries import load_libraries
from lend.targets.cpu.machine import Machine

_MARKED = re.compile(r"^declare (float|double) @(\w+)\(([^)]*)\)(.*?) " + re.escape(VECTOR_MARK) + r"(.*)$", re.MULTILINE)


def attach(ir: str, machine: Machine) -> str:
    """`ir` with each marked declaration's vector variants declared and named; the marks are gone."""
    variants: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        type, name, parameters, before, after = match.groups()
        count = len(parameters.split(","))
        found = _variants(machine, name, type, count)
        variants.update(found)
        mappings = ",".join(f"{each}({each})" for each in found)
        attribute = f' "vector-function-abi-variant"="{mappings}"' if found else ""
        return f"declare {type} @{name}({parameters}){before}{attribute}{after}"

    ir = _MARKED.sub(replace, ir)
    if not variants:
        return ir
    # The optimiser drops declarations that nothing uses, and looks the variants up only later.
    names = ", ".join(f"ptr @{name}" for name in variants)
    kept = f'@llvm.compiler.used = appending global [{len(variants)} x ptr] [{names}], section "llvm.metadata"'
    return "\n".join([ir, *variants.values(), kept, ""])


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
def _variants(machine: Machine, name: str, type: str, count: int) -> dict[str, str]:
    """The variants that exist of one function: name -> declaration."""
    load_libraries()
    found: dict[str, str] = {}
    for letter, bits, convention in _widths(machine):
        lanes = bits // (32 if type == "float" else 64)
        symbol = f"_ZGV{letter}N{lanes}{'v' * count}_{name}"
        # For another architecture nothing can be looked up; such code is only looked at, never run.
        if not machine.is_host_architecture or llvm.address_of_symbol(symbol):
            vector = f"<{lanes} x {type}>"
            found[symbol] = (
                f"declare {convention}{vector} @{symbol}({', '.join([vector] * count)}) nounwind willreturn memory(none)"
            )
    return found
