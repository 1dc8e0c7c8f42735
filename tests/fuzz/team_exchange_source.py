"""Random kernels of blocks of threads that are right, with what people write by hand to break compilers.

Does: write what `team_code_source.py` does, names that are exchanged, rows and parts of arrays by other names, `while`, `break`,
and `continue` around barriers, sub-groups that go apart, teams in branches and loops of the block, tiles that change places,
functions with barriers, and subscripts that atomic operations give.  Does not: write what the proofs refuse, but for a few.
Invariants: as there; names of parts are used only where they are in sight.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from choices import Choices
from team_code_source import HEADER, TeamCode

FUNCTIONS = """\
import lend
from lend import Atomic, Mut, Ref, f64, i32, i64
from lend.dims import K, M, N

@lend.function
def turned(tile, at, other, value, again):
    tile[at] = value
    lend.sync()
    found = tile[other]
    lend.sync()
    if again:
        tile[at] = found
        lend.sync()
        found += tile[other]
        lend.sync()
    return found

@lend.function
def stepwise(tile, at, other, count):
    found = 0.0
    for j in range(4):
        if j >= count:
            break
        tile[at] = found + 1.0
        lend.sync()
        found += tile[other]
        lend.sync()
    return found

"""


class TeamExchanges(TeamCode):
    """One program."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.parts: list[tuple[str, int]] = []  # names of rows, and how deep they were made
        self.tickets = choices.chance(40)

    def program(self) -> str:
        """The whole source text."""
        text = super().program()
        head = HEADER[HEADER.index("@lend.kernel") :]
        more = f"        r = lend.shared(f64, {self.threads})\n"
        if self.tickets:
            more += "        n = lend.shared(Atomic[i64], 2)\n"
        first = "        total = 0.25\n"
        return FUNCTIONS + head + text[len(HEADER) :].replace(first, first + more, 1)

    @contextmanager
    def indented(self) -> Iterator[None]:
        with super().indented():
            yield
        self.parts = [(name, depth) for name, depth in self.parts if depth <= self.depth]

    def team(self) -> None:
        """A loop over threads, or several, in branches and loops of the block."""
        c = self.choices
        if c.chance(25):
            self.write(f"for {self.name('m')} in range({c.pick(('2', 'h % 3', 'b % 2 + 1'))}):")
            with self.indented():
                self.threads_loop()
        elif c.chance(20):
            self.write(f"if {c.pick(('b', 'h', 'b + h'))} > {c.pick((0, 1))}:")
            with self.indented():
                self.threads_loop()
            self.write("else:")
            with self.indented():
                self.threads_loop()
        else:
            self.threads_loop()

    def threads_loop(self) -> None:
        """One."""
        self.parts = []
        super().team()

    def statement(self, depth: int, together: bool) -> None:
        """One, of the old kinds or of the new ones."""
        c = self.choices
        if not c.chance(45):
            super().statement(depth, together)
            return
        kinds = [(4, self.swap), (4, self.row), (5, self.of_row), (3, self.whole_number)]
        if together:
            kinds += [(5, self.long_exchange), (4, self.part_of_local), (5, self.changing_places), (4, self.call)]
            if self.tickets:
                kinds.append((4, self.ticket))
            if depth:
                kinds += [(6, lambda: self.while_together(depth)), (5, lambda: self.left_early(depth))]
                if self.groups:
                    kinds += [(8, lambda: self.groups_apart(depth)), (6, lambda: self.loops_apart(depth))]
        elif depth:
            kinds.append((4, lambda: self.while_alone(depth)))
        c.often(tuple(kinds))()

    # ------------------------------------------------------------------------------------------------------- values

    def swap(self) -> None:
        """Variables change places."""
        options = ("v, w = w, v", "v, w, u = w, u, v", "u, v = v, u + 0.5", "w, u = u * 0.5, w")
        self.write(self.choices.pick(options))

    def whole_number(self) -> None:
        options = ("k = k * 3 - t", "k = k % 7 + t % 3", "k = (k + t) % 5", "k = i64(w) % 4 if abs(w) < 1e6 else i64(2)")
        self.write(self.choices.pick(options))

    def row(self) -> None:
        """A row of the caller's array by another name."""
        c, name = self.choices, self.name("r")
        self.write(f"{name} = {c.pick(('x[k % N, :]', 'x[(t + k) % N, 0:2]', 'x[(t + 1) % N, 0:2]', 'x[(t + h) % N, 0:2]'))}")
        self.parts.append((name, self.depth))

    def of_row(self) -> None:
        """An element of such a row."""
        if not self.parts:
            self.row()
            return
        name, _ = self.choices.pick(self.parts)
        self.write(f"{self.choices.pick('vwu')} += {name}[{self.choices.pick('01')}]")

    # ------------------------------------------------------------------------------------------------------ exchanges

    def long_exchange(self) -> None:
        """What a thread reads is used after the next barrier, too."""
        c, n, name = self.choices, self.threads, self.name("z")
        self.write(f"s[t] = {self.expression(1)}")
        self.write("lend.sync()")
        self.write(f"{name} = s[(t + {c.pick((1, 2, 3))}) % {n}]")
        self.statement(0, False)
        self.write("lend.sync()")
        self.statement(0, False)
        self.write(f"{c.pick('vwu')} {c.pick(('+=', '-=', '='))} {name} * 0.5")

    def changing_places(self) -> None:
        """Two tiles that change places."""
        c, n = self.choices, self.threads
        p, q, j = self.name("p"), self.name("q"), self.name("j")
        for line in (
            "s[t] = v",
            "r[t] = w",
            "lend.sync()",
            f"{p} = s",
            f"{q} = r",
            f"for {j} in range({c.pick(('2', '3', '4'))}):",
        ):
            self.write(line)
        with self.indented():
            self.write(f"{q}[t] = {p}[(t + {c.pick((1, 2))}) % {n}] * 0.5 + f64({j})")
            if c.chance(30):
                self.statement(0, False)
            self.write("lend.sync()")
            self.write(f"{p}, {q} = {q}, {p}")
        self.write(f"{c.pick('vw')} += {p}[{n} - 1 - t]")
        self.write("lend.sync()")

    def call(self) -> None:
        """A function with barriers."""
        c, n = self.choices, self.threads
        other = c.pick((f"(t + 1) % {n}", f"{n} - 1 - t", "0"))
        again = c.pick(("h > 1", "b > 0", "True", "False"))
        if c.chance(50):
            self.write(f"{c.pick('vw')} += turned({c.pick('sr')}, t, {other}, {self.expression(1)}, {again})")
        else:
            self.write(f"{c.pick('vw')} += stepwise({c.pick('sr')}, t, {other}, {c.pick(('2', 'h', 'b', 'h % 3'))})")

    def ticket(self) -> None:
        """Each thread takes a place that an atomic operation gives; what stands there does not depend on which."""
        name, n = self.name("i"), self.threads
        self.write(f"s[t] = {self.expression(1)}")
        for line in ("lend.sync()", f"{name} = n.add(0, 1)", f"if 0 <= {name} < {n}:", f"    s[{name}] = 1.5", "lend.sync()"):
            self.write(line)
        self.write("w += s[t]")
        self.write("lend.sync()")

    def part_of_local(self) -> None:
        """A row of a private array by another name, across a barrier."""
        c, array, a, name = self.choices, self.name("l"), self.name("a"), self.name("r")
        self.write(f"{array} = lend.local(f64, 2, 3)")
        self.write(f"for {a} in range(6):")
        self.write(f"    {array}[{a} // 3, {a} % 3] = v * f64({a})")
        self.write(f"{name} = {array}[{c.pick(('0', '1', 'k % 2'))}, {c.pick((':', '0:2', '1:3'))}]")
        self.parts.append((name, self.depth))
        if c.chance(50):
            self.write("lend.sync()")
        self.statement(0, False)
        self.write(f"{name}[{c.pick('01')}] = w + {array}[1, 2]")
        if c.chance(50):
            self.write("lend.sync()")
        self.write(f"u = u + {array}[0, {c.pick('012')}] - {name}[0]")

    # ---------------------------------------------------------------------------------------------------------- loops

    def while_together(self, depth: int) -> None:
        """A `while` that all threads make together."""
        c, j = self.choices, self.name("j")
        self.write(f"{j} = i64({c.pick((0, 1, 2))})")
        self.write(f"while {j} < {c.pick(('3', 'h % 4', 'b % 3 + 1'))}:")
        with self.indented():
            self.write(f"{j} += 1")
            if c.chance(30):
                self.write(f"if {j} % 2 == {c.pick((0, 1))}: {c.pick(('break', 'continue'))}")
            self.statements(depth - 1, True)
            if c.chance(30):
                self.write(f"if {j} + h > 3: break")

    def left_early(self, depth: int) -> None:
        """A `for` that all threads leave together, or whose iterations they end together."""
        c, j = self.choices, self.name("j")
        self.write(f"for {j} in range({c.pick(('4', 'h % 5', '3, 0 - 1, 0 - 1', '0, 6, 2'))}):")
        with self.indented():
            if c.chance(50):
                self.write(f"if {j} == {c.pick(('1', 'h', 'b', '2'))}: {c.pick(('break', 'continue'))}")
            self.statements(depth - 1, True)
            if c.chance(50):
                self.write(f"if {j} >= {c.pick(('1', 'h', 'b', '2'))}: {c.pick(('break', 'continue'))}")
            if c.chance(50):
                self.statements(0, True)

    def while_alone(self, depth: int) -> None:
        """A `while` of each thread's own."""
        c, j = self.choices, self.name("j")
        self.write(f"{j} = i64({c.pick(('0', 't % 3', 'k % 4'))})")
        self.write(f"while {j} < {c.pick(('3', 'h % 5', 't % 5'))}:")
        with self.indented():
            self.write(f"{j} += 1")
            self.statements(depth - 1, False)
            if c.chance(40):
                self.write(f"if {c.pick(('v > 2.0', 'k > 3', f'{j} == 2'))}: {c.pick(('break', 'continue'))}")

    # ----------------------------------------------------------------------------------------------------- sub-groups

    def of_group(self, depth: int) -> None:
        """What a sub-group does while others are elsewhere."""
        c = self.choices
        for _ in range(c.pick((1, 2, 3))):
            kind = c.below(10)
            if kind < 5:
                self.group()
            elif kind < 6 and depth:
                self.groups_apart(depth - 1)
            elif kind < 7 and depth:
                self.loops_apart(depth - 1)
            else:
                self.statement(0, False)

    def groups_apart(self, depth: int) -> None:
        """A branch that sub-groups take as a whole."""
        c = self.choices
        conditions = ("t // 8 < h", "t // 8 == 1", "t // 8 > 0", "t // 8 % 2 == 0", "t < 8", "t >= 8", "t // 8 + b > 1")
        self.write(f"if {c.pick(conditions)}:")
        with self.indented():
            self.of_group(max(depth - 1, 0))
        if c.chance(50):
            self.write("else:")
            with self.indented():
                self.of_group(max(depth - 1, 0))

    def loops_apart(self, depth: int) -> None:
        """A loop that sub-groups make as a whole, each as often as it likes."""
        c, j = self.choices, self.name("j")
        if c.chance(50):
            self.write(
                f"for {j} in range({c.pick(('t // 8', 't // 8, 4', 'h - t // 8', '4, t // 8 - 1, 0 - 2', 't // 8, h + 2, 2'))}):"
            )
        else:
            self.write(f"{j} = i64({c.pick((0, 1))})")
            self.write(f"while {j} < {c.pick(('t // 8', '4 - t // 8', 't // 8 + h', 'h'))}:")
            self.write(f"    {j} += 1")
        with self.indented():
            self.of_group(max(depth - 1, 0))
            if c.chance(30):
                self.write(f"k += {j}")
