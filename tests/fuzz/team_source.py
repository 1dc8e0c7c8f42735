"""Generates team kernels that are right by construction: what threads exchange is separated by barriers.

Does: write source text with private values, arrays and loops across barriers, sub-groups, reductions of threads and blocks, and
functions.  Does not: generate defective kernels (`teams/kernels.py` does).
Invariants: barriers stand under conditions of the block only; each thread writes its own elements; every loop is short.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from choices import Choices

HEADER = """\
from typing import Literal
import lend
from lend import Atomic, Mut, Ref, f32, f64, i32, i64
from lend.dims import N

@lend.function
def swapped(tile, v, t, other):
    tile[t] = v
    lend.sync()
    w = tile[other]
    lend.sync()
    return w

@lend.function
def bounded(v, low, high):
    if v < low:
        return low
    for k in range(3):
        if v > high + k:
            return high
    return v

"""


@dataclass(frozen=True)
class Where:
    """Where a statement stands: what may not be done there, and the loop indices in sight."""

    barriers: bool = True  # all threads of the block get here together
    depth: int = 0
    indices: tuple[str, ...] = ()  # of loops that all threads share


class TeamSource:
    """One program. `threads`: the size of a block."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.threads = c.pick((8, 4, 16, 3, 5, 32))
        self.group = c.pick((2, 4)) if self.threads % 4 == 0 else 0
        self.local = False
        self.parts: list[str] = []  # block-level sums in sight

    def program(self) -> str:
        """The whole source text."""
        size = self.threads
        self.write("total = 0.0", "best = -100", "many = i64(0)", "for b in lend.blocks(N):")
        with self.indented():
            self.write(f"s = lend.shared(f64, {size})", f"r = lend.shared(i64, {size})", "u = f64(x[b, 0]) * a")
            self.write("counts = lend.shared(Atomic[i32], 4)")
            for _ in range(self.choices.pick((1, 1, 2, 3))):
                self.block_statement(0)
        arrays = ", ".join(f"{start}, N, Literal[{size}]]" for start in ("x: Ref[f32", "y: Mut[i64", "z: Mut[f64"))
        signature = f"{arrays}, h: Atomic[i64, Literal[4]], n: i32, a: f64"
        head = f'{HEADER}@lend.kernel(math="strict")\ndef kernel({signature}) -> tuple[f64, i64, i64]:\n'
        return head + "\n".join(self.lines) + "\n    return total, best, many\n"

    def write(self, *lines: str) -> None:
        self.lines += ["    " * self.indent + line for line in lines]

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self.indent -= 1

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # -------------------------------------------------------------------------------------------------- block level

    def block_statement(self, depth: int) -> None:
        c = self.choices
        kind = c.often(((10, "team"), (3, "if"), (3, "loop"), (2, "value"))) if depth < 2 else "team"
        if kind == "team":
            return self.team()
        if kind == "value":
            return self.write(f"u = u * 0.5 + {c.pick(('1.0', 'b', 'n', *self.parts))}")
        if kind == "if":
            self.write(f"if {self.block_condition(())}:")
            with self.indented():
                self.block_statement(depth + 1)
            if c.chance(50):
                self.write("else:")
                with self.indented():
                    self.block_statement(depth + 1)
            return None
        index = self.name("q")
        self.write(f"for {index} in range({c.pick(('2', 'n', '3'))}):")
        with self.indented():
            self.block_statement(depth + 1)
            if c.chance(25):
                self.write("if u > 50.0:", "    break")
            self.block_statement(depth + 1)
        return None

    def block_condition(self, indices: tuple[str, ...]) -> str:
        """A condition that is the same for all threads of a block."""
        c = self.choices
        return c.pick(("n > 1", "b % 2 == 0", "u > 1.0", "a > 0.5", *(f"{i} == {c.below(3)}" for i in indices)))

    def team(self) -> None:
        """A `threads` loop."""
        c, size = self.choices, self.threads
        part = self.name("part")
        if c.chance(40):
            self.write(f"{part} = {c.pick(('0.0', 'u'))}")
        else:
            part = ""
        if size % 8 == 0 and c.chance(15):
            self.write(f"for p, q, o in lend.threads({size // 8}, 4, 2):")
            self.indent += 1
            self.write("t = (p * 4 + q) * 2 + o")
        elif size % 4 == 0 and c.chance(30):
            self.write(f"for p, q in lend.threads({size // 4}, 4):")
            self.indent += 1
            self.write("t = p * 4 + q")
        else:
            self.write(f"for t in lend.threads({size}):")
            self.indent += 1
        self.write("v = f64(x[b, t])", "w = y[b, t]")
        self.local = c.chance(30)
        if self.local:
            self.write("m = lend.local(f64, 3)", "for k in range(3):", "    m[k] = v + k")
        if self.group:
            self.write(f"sg = lend.subgroup({self.group})")
        self.reduced = [*([f"{part} += v"] if part else []), "total += v", "best = max(best, w)", "many += 1"]
        for _ in range(c.pick((2, 3, 4, 6))):
            self.statement(Where())
        if c.chance(30):
            self.write(f"if {self.own_condition()}:", "    continue")
        self.write("y[b, t] = w", "z[b, t] += v")
        self.indent -= 1
        if part:
            self.parts = [part] if self.indent == 2 else []
            self.write(f"u = u + {part} * 0.25")

    # ------------------------------------------------------------------------------------------------------ threads

    def statement(self, where: Where) -> None:
        c = self.choices
        kinds = [(6, "compute"), (3, "reduce"), (2, "bound"), (4, "own_branch"), (2, "own_loop"), (2, "atomic")]
        if self.local:
            kinds.append((3, "private"))
        if where.barriers:
            kinds += [(8, "exchange"), (3, "function"), (4, "branch"), (4, "loop"), (2, "tally")]
            if self.group:
                kinds.append((5, "subgroup"))
        kind = c.often(kinds)
        if where.depth >= 3 and kind in ("own_branch", "own_loop", "branch", "loop"):
            kind = "compute"
        getattr(self, kind)(where)

    def place(self) -> str:
        """An element of a tile, any."""
        c, size = self.choices, self.threads
        return c.pick(("t", f"{size - 1} - t", f"(t + {c.below(size)}) % {size}", f"t * 3 % {size}", str(c.below(size))))

    def real(self) -> str:
        c = self.choices
        return c.pick(("v", "v * 0.5", "u", "a", "1.0", "-v", "f64(w)", "abs(v) + 1.0", "f64(t)", "min(v, u)", "v / 3.0"))

    def integer(self) -> str:
        c = self.choices
        return c.pick(("w", "w + 1", "t", "i64(n)", "w ^ 5", "w // 3", "max(w, 2)", "b", "i64(v) % 7", "w & 15"))

    def own_condition(self) -> str:
        c = self.choices
        return c.pick(("t % 2 == 0", f"t < {c.below(self.threads)}", "v > 0.5", "w % 3 == 1", "t == 0"))

    def compute(self, where: Where) -> None:
        c = self.choices
        if c.chance(50):
            self.write(f"v = {self.real()} {c.pick(('+', '-', '*'))} {self.real()}")
        else:
            self.write(f"w = ({self.integer()}) {c.pick(('+', '-', '^'))} ({self.integer()})")

    def reduce(self, where: Where) -> None:
        self.write(self.choices.pick(self.reduced))

    def bound(self, where: Where) -> None:
        self.write("v = bounded(v, -8.0, 8.0)" if self.choices.chance(60) else "w = bounded(w, i64(-9), i64(99))")

    def private(self, where: Where) -> None:
        c = self.choices
        self.write(c.pick(("m[t % 3] = v", "v += m[w % 3]", "m[1] += 0.5", "v = m[0] - m[2]")))

    def own_branch(self, where: Where) -> None:
        inner = replace(where, barriers=False, depth=where.depth + 1)
        self.write(f"if {self.own_condition()}:")
        with self.indented():
            self.statement(inner)
        if self.choices.chance(40):
            self.write("else:")
            with self.indented():
                self.statement(inner)

    def own_loop(self, where: Where) -> None:
        c = self.choices
        self.write(f"for {self.name('k')} in range({c.pick(('t % 3', 'w % 2', '2'))}):")
        with self.indented():
            self.statement(replace(where, barriers=False, depth=where.depth + 1))
            if c.chance(30):
                self.write(f"if {self.own_condition()}:", f"    {c.pick(('break', 'continue'))}")
                self.statement(replace(where, barriers=False, depth=where.depth + 1))

    def exchange(self, where: Where) -> None:
        tile, value = self.choices.pick((("s", "v"), ("r", "w")))
        own = self.choices.pick(("t", "t", f"{self.threads - 1} - t"))
        self.write(f"{tile}[{own}] = {value}", "lend.sync()")
        if self.choices.chance(30):
            self.statement(where if where.depth > 2 else replace(where, barriers=False, depth=3))
        self.write(f"{value} {self.choices.pick(('=', '+='))} {tile}[{self.place()}]", "lend.sync()")

    def atomic(self, where: Where) -> None:
        """What comes to the same in any order."""
        c = self.choices
        self.write(c.pick(("h[w & 3] += w & 7", "h.sub(t % 4, i64(n))", "h[b & 3] += 1")))

    def tally(self, where: Where) -> None:
        c = self.choices
        self.write(f"counts.{c.pick(('add', 'add', 'or_'))}({c.pick(('w & 3', 't % 4', '0'))}, 1)", "lend.sync()")
        self.write(f"w += i64(counts.load({c.pick(('t % 4', 'w & 3', '1'))}))", "lend.sync()")

    def function(self, where: Where) -> None:
        tile, value = self.choices.pick((("s", "v"), ("r", "w")))
        self.write(f"{value} = swapped({tile}, {value}, t, {self.place()})")

    def branch(self, where: Where) -> None:
        inner = replace(where, depth=where.depth + 1)
        self.write(f"if {self.block_condition(where.indices)}:")
        with self.indented():
            self.statement(inner)
            self.statement(inner)
        if self.choices.chance(40):
            self.write("else:")
            with self.indented():
                self.statement(inner)

    def loop(self, where: Where) -> None:
        c, index = self.choices, self.name("j")
        inner = replace(where, depth=where.depth + 1, indices=(*where.indices, index))
        if c.chance(70):
            self.write(f"for {index} in range({c.pick(('2', 'n', '1, 3', 'b % 3'))}):")
            with self.indented():
                self.statement(inner)
                self.statement(inner)
            return
        self.write(f"{index} = {c.pick(('2', '1', '3'))}", f"while {index} > 0:")
        with self.indented():
            self.statement(replace(inner, indices=where.indices))
            self.statement(replace(inner, indices=where.indices))
            self.write(f"{index} -= 1")

    def subgroup(self, where: Where) -> None:
        c = self.choices
        operations = (
            "v = sg.shuffle_xor(v, 1)", "w += sg.scan_add(w & 7)", "v = sg.reduce_add(v)", "w = i64(sg.ballot(v > 0.5))",
            "w = sg.shuffle(w, sg.lane ^ 1)", "v = sg.shuffle_up(v, 1) * 0.5", "v = sg.scan_max(v)", "w = sg.reduce_min(w)",
            "w += i64(sg.lane)",
        )  # fmt: skip
        self.write(c.pick(operations))
