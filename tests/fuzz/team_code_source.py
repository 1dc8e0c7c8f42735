"""Random kernels of blocks of threads that are right: what compiled code makes of guards, loops and values kept across barriers.

Does: write source text.  Does not: write what the proofs refuse, but for a few.
Invariants: threads write their own elements only, and read those of others between two barriers; the arrays x[N, M] and o[K] and
the number h are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from choices import Choices

HEADER = """\
import lend
from lend import Mut, Ref, f64, i32, i64
from lend.dims import K, M, N

@lend.kernel(math="strict")
def kernel(x: Ref[f64, N, M], o: Mut[f64, K], h: i64) -> f64:
"""


class TeamCode:
    """One program. `threads`: the size of a block."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.shape = c.pick(((8,), (16,), (32,), (32,), (33,), (64,), (2, 8), (3, 5), (4, 16), (8, 8)))
        self.threads = self.shape[0] if len(self.shape) == 1 else self.shape[0] * self.shape[1]
        self.groups = False
        self.reduces = False

    def program(self) -> str:
        """The whole source text."""
        c = self.choices
        self.write("assert M >= 2")
        self.write("grand = 0.5")
        self.write(f"for b in lend.blocks({c.pick(('N', 'lend.cdiv(N, 2)', '3'))}):")
        with self.indented():
            self.write(f"s = lend.shared(f64, {self.threads})")
            self.write("total = 0.25")
            for _ in range(c.pick((1, 1, 2))):
                self.team()
            self.write("grand += total")
        self.write("return grand")
        return HEADER + "\n".join(self.lines) + "\n"

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # ------------------------------------------------------------------------------------------------------- threads

    def team(self) -> None:
        """A loop over threads: what each has at first, statements, and what it leaves in `o`."""
        c = self.choices
        self.reduces, self.groups = c.chance(50), c.chance(40) and self.threads % 8 == 0
        if len(self.shape) == 1:
            self.write(f"for t in lend.threads({self.threads}):")
        else:
            self.write(f"for p, q in lend.threads({self.shape[0]}, {self.shape[1]}):")
        with self.indented():
            if len(self.shape) == 2:
                self.write(f"t = p * {self.shape[1]} + q")
            if self.groups:
                self.write("sg = lend.subgroup(8)")
            self.write(f"g = b * {self.threads} + t")
            for line in ("v = f64(t) * 0.125", "w = 1.0", "u = 2.0", "k = i64(1) + h"):
                self.write(line)
            self.statements(3, True)
            self.statements(2, True)
            self.write("if g < K:")
            with self.indented():
                self.write("o[g] = o[g] + v + 2.0 * w + u + f64(k)")

    def statements(self, depth: int, together: bool) -> None:
        """A few; `together`: all threads of the block get here."""
        for _ in range(self.choices.pick((1, 2, 3))):
            self.statement(depth, together)

    def statement(self, depth: int, together: bool) -> None:
        """One, with statements inside as far as `depth` allows."""
        c = self.choices
        kinds = [(18, self.arithmetic), (8, self.from_memory), (7, self.contribution)]
        if depth:
            kinds += [(10, lambda: self.guarded(depth)), (14, lambda: self.walk(depth))]
        if together:
            kinds += [(12, self.exchange), (6, lambda: self.private(True))]
            if depth:
                kinds += [(8, lambda: self.branch(depth)), (10, lambda: self.loop(depth))]
            if self.groups:
                kinds.append((7, self.group))
        else:
            kinds.append((3, lambda: self.private(False)))
        c.often(tuple(kinds))()

    def expression(self, depth: int = 2) -> str:
        c = self.choices
        if depth == 0 or c.chance(30):
            return c.pick(("v", "w", "1.5", "0.25", "f64(t)", "f64(k)", "u", "f64(b)"))
        return f"({self.expression(depth - 1)} {c.pick('+-*')} {self.expression(depth - 1)})"

    def guard(self) -> str:
        """A condition that differs from thread to thread."""
        c = self.choices
        n = c.pick(tuple(range(-1, self.threads + 2)))
        found = [f"t < {n}", f"t == {n}", f"t >= {n}", f"t > {n}", "t < h", "t >= h", "h < t", "g < N", "g + 3 < N", "g >= 2"]
        found += ["g < N and t > 1", f"t <= h and t != {n}", "v > 0.5", f"{n} == t", f"t >= h and t < {n}"]
        found += ["t % 3 == 1", f"t % 8 == 0 and t < {n}", "t % 2 == 0 and t > h"]
        if len(self.shape) == 2:
            found += ["p < q", "q == 0", "p >= h", "q < h and p == 1"]
        return c.pick(tuple(found))

    def arithmetic(self) -> None:
        c = self.choices
        self.write(f"{c.pick('vwv')} {c.pick(('=', '+=', '-='))} {self.expression()}")

    def contribution(self) -> None:
        self.write(f"total += {self.expression(1)}" if self.reduces else "u = u + 0.5")

    def exchange(self) -> None:
        """Through shared memory, between two barriers."""
        c, n = self.choices, self.threads
        self.write(f"s[t] = {self.expression(1)}")
        self.write("lend.sync()")
        place = c.pick((f"(t + 1) % {n}", f"{n} - 1 - t", "t", "0", f"(t + {c.pick(tuple(range(n)))}) % {n}"))
        self.write(f"{c.pick('vw')} += s[{place}]")
        self.write("lend.sync()")

    def guarded(self, depth: int) -> None:
        self.write(f"if {self.guard()}:")
        with self.indented():
            self.statements(depth - 1, False)
        if self.choices.chance(40):
            self.write("else:")
            with self.indented():
                self.statements(depth - 1, False)

    def branch(self, depth: int) -> None:
        """One that all threads take together."""
        c = self.choices
        self.write(f"if {c.pick(('b', 'k', 'k % 3', 'h', 'M', 'b * 2 + 1'))} > {c.pick((0, 1, 2))}:")
        with self.indented():
            self.statements(depth - 1, True)
        if c.chance(50):
            self.write("else:")
            with self.indented():
                self.statements(depth - 1, True)

    def loop(self, depth: int) -> None:
        """One that all threads make together."""
        c, j = self.choices, self.name("j")
        self.write(f"for {j} in range({c.pick(('3', 'h % 4', '1, 4', 'b % 3'))}):")
        with self.indented():
            self.statements(depth - 1, True)
            if c.chance(30):
                self.write(f"k += {j}")

    def walk(self, depth: int) -> None:
        """A loop along memory, each thread from a place of its own."""
        c, j = self.choices, self.name("j")
        start = c.pick(("t", "t", "t", "t + k % 5", "k % 3 + t", "0", "t * 2", "b * 3 + t"))
        step = c.pick((self.threads, self.threads, 2 * self.threads, 1, 3, 7))
        self.write(f"for {j} in range({start}, {c.pick(('M', 'M', 'M - 2', 'N'))}, {step}):")
        with self.indented():
            row, rows = c.pick((("b", "b < N"), ("0", "N > 0")))
            self.write(f"{c.pick('vw')} += x[{row}, {j}] if {j} < M and {j} >= 0 and {rows} else 0.0")
            if c.chance(40):
                self.write("k += 1")
            if depth > 1 and c.chance(30):
                self.guarded(1)

    def from_memory(self) -> None:
        self.write(f"if g < N and g < {self.choices.pick('NM')}:")
        with self.indented():
            self.write(f"v += x[g, {self.choices.pick(('0', '1'))}]")

    def private(self, together: bool) -> None:
        c, name = self.choices, self.name("l")
        self.write(f"{name} = lend.local(f64, 3)")
        for line in ("[0] = v", "[1] = w", "[2] = 1.0"):
            self.write(name + line)
        if together and c.chance(60):
            self.write("lend.sync()")
        self.write(f"{name}[{c.pick(('0', '1', 'k % 3 if k >= 0 else 0'))}] = {name}[2] + v")
        self.write(f"w = {name}[0] - {name}[1]")

    def group(self) -> None:
        calls = ("reduce_add(v)", "scan_add(v)", "shuffle_xor(v, 3)", "shuffle_up(w, 1)", "shuffle_down(v, i32(k % 5))")
        self.write(f"w = sg.{self.choices.pick((*calls, 'reduce_max(w)', 'shuffle(v, i32(t % 5))'))}")
