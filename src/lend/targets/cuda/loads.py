"""Loads of optimised LLVM IR, moved down to the first instruction that uses them.

Does: reorder the lines of basic blocks.  Does not: move anything from one block to another, or past what may write.
Invariants: a load crosses only instructions that this module knows to neither write, wait nor end the block; what it does not
know stops all loads. Volatile and atomic loads stay where they are.

LLVM writes PTX in the order of the IR, and `ptxas`, which begins the loads of a block together where it can, starts from that
order: what is loaded long before its use takes registers that the rest of the block does not get back.
"""

from __future__ import annotations

import re

_LOAD = re.compile(r"  (%[\w.$-]+) = load (?!volatile |atomic )")
_DEFINITION = re.compile(r"  %[\w.$-]+ = (\w+) ")
_NAME = re.compile(r"%[\w.$-]+")
_HARMLESS = frozenset(
    (
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "select"),
        *("fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "freeze"),
        *("trunc", "zext", "sext", "bitcast", "ptrtoint", "inttoptr", "addrspacecast", "getelementptr", "extractvalue"),
        *("insertvalue", "extractelement", "insertelement", "shufflevector"),
    )
)
_PURE_CALL = re.compile(
    r"call [^@]*@llvm\.(fma|fmuladd|fabs|sqrt|copysign|minnum|maxnum|smin|smax|umin|umax|nvvm\.read\.ptx\.sreg)\."
)


def sunk(text: str) -> str:
    """The module with each load before its first use in its block, or else where something stops it."""
    lines: list[str] = []
    waiting: dict[str, str] = {}
    for line in text.split("\n"):
        load = _LOAD.match(line)
        definition = _DEFINITION.match(line)
        crossed = load or (definition and definition[1] in _HARMLESS) or (definition and _PURE_CALL.search(line))
        for name in _NAME.findall(line) if crossed else list(waiting):
            if name in waiting:
                lines.append(waiting.pop(name))
        if load:
            waiting[load[1]] = line
        else:
            lines.append(line)
    return "\n".join(lines)
