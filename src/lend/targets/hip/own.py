"""Optimised LLVM IR for AMD -> the same, in which addresses have a thread's own part from 32 bits in their own block.

Does: where an address adds, in another block, a thread's number times a constant (and the like), work that part out anew there.
Does not: look for such parts beyond a thread's numbers in its block, or change anything that is not added to an address.
Invariants: a part is worked out in 32 bits only where it is known to be less than 2**31; where it was known, it may be known
anew: the thread's number comes first of all. What this does not know stays as it is.

AMD's accesses add 32 bits of a thread to the wave's own address. LLVM chooses instructions block by block, so it must see that
a part has 32 bits in the block of the access; optimisation leaves it one value of 64 bits, in the first block that asks for it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FUNCTION = re.compile(r"define ")
_LABEL = re.compile(r'(?:[\w.$-]+|"[^"]+"):')
_THREAD = re.compile(r"  (%[\w.$-]+) = .*call [^@]*i32 @llvm\.amdgcn\.workitem\.id\.[xyz]\(\)")
_WIDENED = re.compile(r"  (%[\w.$-]+) = zext (?:nneg )?i32 (%[\w.$-]+) to i64$")
_STEP = re.compile(r"  (%[\w.$-]+) = (shl|mul|add|or) (?:(?:nuw|nsw|disjoint) )*i64 (%[\w.$-]+), (\d+)$")
_ADDRESS = re.compile(r"  %[\w.$-]+ = getelementptr (?:\w+ )*i8, .*, i64 (%[\w.$-]+)$")

MOST_THREADS = 1024
MOST = 1 << 31


class _Part(NamedTuple):
    """A thread's own part: the most it can be, the thread's number that it is made from and how, and the block that has it."""

    most: int
    thread: str
    steps: tuple[tuple[str, int], ...]
    block: int


def per_block(text: str) -> str:
    """The module with these parts worked out where they are used."""
    lines: list[str] = []
    known: dict[str, _Part] = {}
    here: dict[str, str] = {}  # what was worked out in this block
    block = 0
    for line in text.split("\n"):
        if _FUNCTION.match(line):
            known = {}
        if _FUNCTION.match(line) or _LABEL.match(line):
            block, here = block + 1, {}
        _note(line, block, known)
        address = _ADDRESS.match(line)
        part = known.get(address[1]) if address else None
        if address and part is not None and part.block != block:
            if address[1] not in here:
                here[address[1]] = _work_out(address[1], part, block, lines)
            line = line[: address.start(1)] + here[address[1]]
        lines.append(line)
    return "\n".join(lines)


def _note(line: str, block: int, known: dict[str, _Part]) -> None:
    """Remember what a line defines, if it is such a part."""
    if thread := _THREAD.match(line):
        known[thread[1]] = _Part(MOST_THREADS - 1, thread[1], (), block)
    elif (widened := _WIDENED.match(line)) and widened[2] in known:
        known[widened[1]] = known[widened[2]]._replace(block=block)
    elif (step := _STEP.match(line)) and step[3] in known:
        of, operator, number = known[step[3]], step[2], int(step[4])
        most = _most(of.most, operator, number)
        if most < MOST:
            known[step[1]] = _Part(most, of.thread, (*of.steps, (operator, number)), block)


def _most(most: int, operator: str, number: int) -> int:
    if operator == "shl":
        return most << number if number < 32 else MOST
    return most * number if operator == "mul" else most + number  # `or` gives no more than the sum


def _work_out(name: str, part: _Part, block: int, lines: list[str]) -> str:
    """Add what works a part out; gives its name."""
    value, found = part.thread, f"{name}.own.{block}"
    for number, (operator, by) in enumerate(part.steps):
        step = f"{found}.{number}"
        lines.append(f"  {step} = {operator}{'' if operator == 'or' else ' nuw nsw'} i32 {value}, {by}")
        value = step
    lines.append(f"  {found} = zext nneg i32 {value} to i64")
    return found
