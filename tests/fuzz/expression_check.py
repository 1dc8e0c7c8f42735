"""Kernels of several generated expressions each, checked against plain Python and NumPy.

Does: put expressions into a kernel, drop the lines that lend refuses, compare what is left.  Does not: choose expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from choices import Choices
from expression_source import Expressions, Node
from oracle import Finding, Refused, call, compare, define, judged
from values import DTYPES, TYPES, array_of, canonical

HEADER = """\
import math
import numpy as np
import lend
from lend import Mut, Ref, bf16, bool_, complex64, complex128, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from lend.dims import N
"""
SIZE = 96


@dataclass
class Tally:
    """How many expressions were accepted, refused, and compared with NumPy too."""

    accepted: int = 0
    refused: int = 0
    numpy: int = 0


def load(type: str, choices: Choices) -> Node:
    """An element of one of two arrays of a type, a scalar parameter, the loop's index or its size."""
    if type == "i64" and choices.chance(15):
        known = choices.pick(("i", "N"))
        return Node(known, type, (), lambda env: np.arange(SIZE) if known == "i" else np.int64(SIZE))
    if choices.chance(8):
        return Node(f"s_{type}", type, (), lambda env: env[f"a_{type}"][3])
    name = f"{choices.pick('ab')}_{type}"
    return Node(f"{name}[i]", type, (), lambda env: env[name])


def expressions(choices: Choices, count: int, depth: int) -> list[Node]:
    """Expressions of any types; one in ten of them mixes types as it pleases."""
    made = Expressions(choices, lambda type: load(type, choices))
    return [made.wild(depth - 1) if choices.chance(10) else made.of(choices.pick(TYPES), depth) for _ in range(count)]


def source_of(nodes: Sequence[Node]) -> str:
    """A kernel that stores each expression in an array of its own."""
    text = " ".join(node.text for node in nodes)
    loads = [f"{name}_{type}" for type in TYPES for name in "ab" if f"{name}_{type}[" in text]
    parameters = [f"{name}: Ref[{name[2:]}, N]" for name in loads]
    parameters += [f"s_{type}: {type}" for type in TYPES if f"s_{type}" in text]
    parameters += [f"o{k}: Mut[{node.type}, N]" for k, node in enumerate(nodes)]
    body = [f"        o{k}[i] = {node.text}" for k, node in enumerate(nodes)]
    head = f'@lend.kernel(math="strict")\ndef kernel({", ".join(parameters)}):\n    for i in lend.grid(N):'
    return HEADER + "\n".join([head, *body]) + "\n"


def check(nodes: list[Node], seed: int, tally: Tally | None = None) -> None:
    """Raise Finding unless compiled code, plain Python and NumPy agree on all expressions that lend accepts."""
    tally = tally if tally is not None else Tally()
    while nodes:
        source = source_of(nodes)
        first = source.splitlines().index("    for i in lend.grid(N):") + 2
        try:
            _compare(source, nodes, seed, tally)
        except Refused as refusal:
            refused = {line - first for line in refusal.lines}
            if not refused <= set(range(len(nodes))):
                raise Finding("a diagnostic at another line", f"{refusal.message}\n{source}") from None
            tally.refused += len(refused)
            nodes = [node for k, node in enumerate(nodes) if k not in refused]
            continue
        tally.accepted += len(nodes)
        return


def _compare(source: str, nodes: Sequence[Node], seed: int, tally: Tally) -> None:
    kernel = judged(lambda: define(source), "at definition")["kernel"]
    names = [f"{name}_{type}" for type in TYPES for name in "ab"]
    env = {name: array_of(name[2:], SIZE, seed + (name[0] == "b")) for name in names}
    loads = [name for name in names if f"{name}: Ref" in source]
    outputs = [np.zeros(SIZE, DTYPES[node.type]) for node in nodes]
    scalars = [env[f"a_{type}"][3] for type in TYPES if f"s_{type}: " in source]
    arguments = [*(env[name] for name in loads), *(bool(s) if s.dtype == bool else s for s in scalars), *outputs]
    compiled = call(kernel, arguments, "in the compiled kernel")
    plain = call(kernel.py, arguments, "in plain Python")
    compare(compiled, plain, "compiled and plain Python", [0.0] * len(loads) + [node.ulps for node in nodes])
    if compiled.fault is not None:
        return
    env = {name: array.view(np.uint8) != 0 if array.dtype == bool else array for name, array in env.items()}
    for number, node in enumerate(nodes):
        if node.reference is None:
            continue
        tally.numpy += 1
        with np.errstate(all="ignore"):
            want = np.broadcast_to(np.asarray(node.reference(env)), (SIZE,)).astype(DTYPES[node.type])
        got = compiled.arrays[len(loads) + number]
        unequal = canonical(got) != canonical(want)
        if unequal.any():
            at = int(np.nonzero(unequal)[0][0])
            raise Finding("other values, compiled and NumPy", f"{node.text} at {at}: {got[at]!r} instead of {want[at]!r}")


def smallest(nodes: Sequence[Node], seed: int) -> tuple[Node, Finding] | None:
    """One failing expression, the smallest found among the given ones and their parts."""
    found: tuple[Node, Finding] | None = None
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        try:
            check([node], seed)
        except Finding as finding:
            found = (node, finding)
            waiting = list(node.parts)
    return found
