"""Random team kernels: threads that exchange tiles and global elements, with barriers where they belong, and where not.

Does: write source text.  Does not: keep to what is safe: about half of it races, diverges, or reads what nobody wrote.
Invariants: every `while` has a counter; blocks have 2 to 8 threads; all sizes are N, which the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from choices import Choices

HEADER = """\
from typing import Literal
import lend
from lend import Atomic, Mut, Out, Ref, bool_, f64, i32, i64
from lend.dims import N

@lend.function
def exchange(tile, at, value):
    old = tile[at]
    lend.sync()
    tile[at] = value
    return old

@lend.function
def fetch(tile, at, size):
    if at >= size:
        return 0.0
    return tile[at]

"""


@dataclass(frozen=True)
class Place:
    """Where a statement stands: integers in sight that are the same in the block, and those that are not."""

    uniform: tuple[str, ...]
    own: tuple[str, ...]
    loops: int = 0
    divergent: bool = False


class TeamKernels:
    """One program. `threads`: the size of a block."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.threads = c.pick((4, 4, 2, 3, 5, 8))
        self.flat = c.chance(85)
        self.careful = c.pick((97, 100, 100, 97, 90, 75, 50))
        self.budget = c.pick((2, 3, 4, 6, 8))
        self.whole = c.chance(60)  # N is a multiple of the block
        self.tiles: dict[str, int] = {}
        self.accumulators: list[str] = []
        self.atomic = c.chance(25)
        self.dirty = False  # a tile has been written since the last barrier

    def program(self) -> str:
        """The whole source text."""
        c, size = self.choices, self.threads
        if self.whole:
            self.write(f"assert N % {size} == 0")
        several = c.chance(25)
        if several:
            self.between()
            if c.chance(40):
                self.write(f"for step in range({c.pick(('2', 'k'))}):")
                self.depth += 1
        for _ in range(c.pick((1, 2)) if several else 1):
            blocks = c.often(((60, f"N // {size}" if self.whole else f"lend.cdiv(N, {size})"), (10, "2"), (5, "k"), (5, "N")))
            self.write(f"for b in lend.blocks({blocks}):")
            with self.indented():
                self.tiles = {}
                self.accumulators = []
                self.block()
            if several:
                self.between()
        self.depth = 1
        out = f"o: {'Out' if any(line.strip().startswith('o[') for line in self.lines) and c.chance(70) else 'Mut'}[f64, N]"
        signature = f"x: Ref[f64, N], q: Ref[i64, N], y: Mut[f64, N], {out}, h: Atomic[i32, Literal[4]], k: i64, f: bool_"
        return f"{HEADER}@lend.kernel\ndef kernel({signature}):\n" + "\n".join(self.lines) + "\n"

    def between(self) -> None:
        """A loop without teams."""
        c = self.choices
        match c.below(5):
            case 0:
                self.write("for i in lend.grid(N):")
                self.write(f"    y[i] = {c.pick(('1.0', 'x[i]', 'x[N - 1 - i]'))}")
            case 1:
                self.write("for i in lend.grid(N):")
                self.write("    o[i] = y[i] + 1.0")
            case 2:
                self.write("for i in lend.grid(N):")
                self.write(f"    y[i] += {c.pick(('o[i]', 'o[N - 1 - i]', '0.5'))}")
            case _:
                pass

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self.depth -= 1

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # -------------------------------------------------------------------------------------------------- block level

    def block(self) -> None:
        c, size = self.choices, self.threads
        for _ in range(c.pick((1, 1, 2))):
            name = self.name("s")
            self.tiles[name] = c.pick((size, size, 2 * size, size + 1, size + 2))
            self.write(f"{name} = lend.shared(f64, {self.tiles[name]})")
        if self.atomic:
            self.write("a = lend.shared(Atomic[i32], 4)")
        uniform: tuple[str, ...] = ("b", "k")
        if c.chance(20):
            self.write("u = q[b] if b < N else i64(0)")
            uniform = (*uniform, "u")
        loops = c.pick((1, 1, 1, 2, 3))
        if loops > 1 and c.chance(30):
            self.write(f"total = {c.pick(('0.0', '1.0'))}")
            self.accumulators.append("total")
        if c.chance(12):
            self.write(f"for e in range({c.pick(('2', 'k', 'b'))}):")
            uniform = (*uniform, "e")
            with self.indented():
                if c.chance(50):
                    name = self.name("s")
                    self.tiles[name] = size
                    self.write(f"{name} = lend.shared(f64, {size})")
                for _ in range(loops):
                    self.team(uniform)
            return
        for number in range(loops):
            self.team(uniform)
            if number == 0 and self.accumulators:
                uniform = (*uniform, "(i64(total))")
                self.accumulators.clear()  # it is read from here on

    def team(self, uniform: tuple[str, ...]) -> None:
        """A `threads` loop."""
        c, size = self.choices, self.threads
        if not self.flat and size % 2 == 0:
            self.write(f"for p, r in lend.threads({size // 2}, 2):")
            self.depth += 1
            self.write("t = p * 2 + r")
        else:
            self.write(f"for t in lend.threads({size}):")
            self.depth += 1
        self.write(f"g = b * {size} + t")
        self.write("v = 0.0")
        self.dirty = False
        place = Place(uniform, ("t", "g"))
        if c.chance(90):
            self.fill(place)
        if c.chance(15) and size % 2 == 0:
            self.write(f"w = lend.subgroup({2 if size % 4 else c.pick((2, 4))})")
            self.subgroups = True
        else:
            self.subgroups = False
        self.block_of(place, self.budget)
        if self.accumulators and c.chance(60):
            self.write("total += v")
        elif c.chance(85):
            self.finish(place)
        self.depth -= 1

    def fill(self, place: Place) -> None:
        """Tiles are written first."""
        c = self.choices
        for name, length in self.tiles.items():
            if not c.chance(90):
                continue
            value = self.global_value(place)
            if length == self.threads or c.chance(6):
                at = c.often(((12, "t"), (3, f"{self.threads} - 1 - t"), (2, f"(t + 1) % {self.threads}")))
                self.write(f"{name}[{at}] = {value}")
            else:
                match c.below(3):
                    case 0:
                        self.write(f"for j in range(t, {length}, {self.threads}):")
                        self.write(f"    {name}[j] = {value}")
                    case 1:
                        self.write(f"{name}[t] = {value}")
                        self.write(f"if t < {length - self.threads}:")
                        self.write(f"    {name}[t + {self.threads}] = {value}")
                    case _:
                        self.write("if t == 0:")
                        self.write(f"    for j in range({length}):")
                        self.write(f"        {name}[j] = {value}")
            self.dirty = True
        if self.dirty and c.chance(self.careful):
            self.sync(place)

    def finish(self, place: Place) -> None:
        """A result into global memory."""
        c = self.choices
        array = c.pick(("y", "o"))
        at = c.often(
            ((12, "g"), (2, f"b * {self.threads} + ({self.threads} - 1 - t)"), (1, "t"), (1, "N - 1 - g"), (1, "g // 2"))
        )
        if self.whole and c.chance(60):
            self.write(f"{array}[{at}] = v")
        else:
            self.write(f"if {'g' if at == 'g' else at} < N:")
            self.write(f"    {array}[{at}] = v")

    # ------------------------------------------------------------------------------------------------- statements

    def block_of(self, place: Place, count: int) -> None:
        for _ in range(max(1, count)):
            self.statement(place, count)

    def statement(self, place: Place, count: int) -> None:
        c = self.choices
        kind = c.often(
            (
                (24, "exchange"), (14, "sync"), (12, "step"), (8, "uniform"), (8, "divergent"), (9, "loop"), (4, "while_loop"),
                (6, "through_global"), (4, "atomics"), (4, "subgroup"), (3, "call"), (2, "skip"), (2, "local"), (3, "once"),
                (4, "part"), (4, "names"), (2, "ticket"),
            )
        )  # fmt: skip
        if place.loops >= 2 and kind in ("loop", "while_loop", "step"):
            kind = "exchange"
        getattr(self, kind)(place, max(1, count // 2))

    def exchange(self, place: Place, count: int) -> None:
        """Read one element, and write one, with or without a barrier between."""
        c = self.choices
        name = c.pick(list(self.tiles))
        if place.divergent and c.chance(self.careful):  # reads alone, or writes of each thread's own element
            own = c.chance(50)
            self.write(f"v += {name}[{self.subscript(name, place)}]" if not own else "y[g] = v" if self.whole else "v += 1.0")
            return
        reads = c.chance(60)
        if reads:
            self.write(f"v += {name}[{self.subscript(name, place)}]")
            if not c.chance(45):
                return
            if c.chance(self.careful):
                self.sync(place)
        own = c.chance(self.careful)
        at = "t" if own and c.chance(70) else self.own(name) if own else self.subscript(name, place)
        guard = "" if c.chance(75) else f"if {self.guard(place)}: "
        self.write(f"{guard}{name}[{at}] {c.pick(('=', '=', '+='))} {c.pick(('v', '1.0', self.global_value(place)))}")
        if c.chance(self.careful):
            self.sync(place)

    def sync(self, place: Place, count: int = 0) -> None:
        if place.divergent and not self.choices.chance(8):
            return
        self.write("lend.sync()")

    def step(self, place: Place, count: int) -> None:
        """Halving, doubling or a butterfly."""
        c, size = self.choices, self.threads
        name = c.pick(list(self.tiles))
        steps = {2: 1, 3: 1, 4: 2, 5: 2, 8: 3}[size]
        j, barrier = self.name("j"), c.chance(self.careful) and not place.divergent
        match c.below(5):
            case 0:
                self.write(f"for {j} in range({steps}):")
                self.write(f"    if t < {size} >> ({j} + 1):")
                self.write(f"        {name}[t] += {name}[t + ({size} >> ({j} + 1))]")
            case 1:
                self.write(f"for {j} in range({steps}):")
                self.write(f"    if t % (2 << {j}) == 0 and t + (1 << {j}) < {size}:")
                self.write(f"        {name}[t] += {name}[t + (1 << {j})]")
            case 2:
                self.write(f"{j} = {size // 2}")
                self.write(f"while {j} > 0:")
                self.write(f"    if t < {j}:")
                self.write(f"        {name}[t] += {name}[t + {j}]")
                if barrier:
                    self.write("    lend.sync()")
                self.write(f"    {j} //= 2")
                return
            case 3:
                self.write(f"for {j} in range({steps}):")
                self.write(f"    d = {name}[t - (1 << {j})] if t >= 1 << {j} else 0.0")
                if barrier:
                    self.write("    lend.sync()")
                self.write(f"    {name}[t] += d")
            case _:
                self.write(f"for {j} in range({steps}):")
                self.write(f"    d = 2 * (1 << {j}) * (t // (1 << {j})) + t % (1 << {j})")
                self.write(f"    if d + (1 << {j}) < {size}:")
                self.write(f"        z = {name}[d]")
                self.write(f"        {name}[d] = {name}[d + (1 << {j})]")
                self.write(f"        {name}[d + (1 << {j})] = z")
        if barrier:
            self.write("    lend.sync()")

    def uniform(self, place: Place, count: int) -> None:
        c = self.choices
        self.write(f"if {self.uniform_condition(place)}:")
        with self.indented():
            self.block_of(place, count)
        if c.chance(30):
            self.write("else:")
            with self.indented():
                self.block_of(place, count)

    def uniform_condition(self, place: Place) -> str:
        c = self.choices
        name = c.pick(place.uniform)
        return c.often(
            ((5, f"{name} > {c.below(3)}"), (2, f"{name} % 2 == 0"), (2, "f"), (2, "N > 4"), (1, "k * b > 2"), (1, "q[0] > 0"))
        )

    def divergent(self, place: Place, count: int) -> None:
        self.write(f"if {self.guard(place)}:")
        with self.indented():
            self.block_of(replace(place, divergent=True), count)
        if self.choices.chance(self.careful):
            self.sync(place)

    def guard(self, place: Place) -> str:
        c = self.choices
        number = c.below(self.threads)
        return c.often(
            (
                (5, f"t < {number}"), (3, f"t == {number}"), (3, "t % 2 == 0"), (3, "g < N"), (2, f"t >= {number}"),
                (1, "v > 0.0"), (1, "q[t] > 0" if self.threads == 2 else "t + b > 2"), (1, f"{c.pick(place.uniform)} > t"),
            )
        )  # fmt: skip

    def loop(self, place: Place, count: int) -> None:
        c = self.choices
        j = self.name("j")
        extent = c.often(((8, "2"), (3, "3"), (4, "k"), (2, "b"), (2, "(1, 3)"), (1, "t"), (2, f"{c.pick(place.uniform)}")))
        bounds = "1, 3" if extent == "(1, 3)" else extent
        self.write(f"for {j} in range({bounds}):")
        uniform = place.uniform if extent == "t" else (*place.uniform, j)
        inner = replace(place, uniform=uniform, loops=place.loops + 1, divergent=place.divergent or extent == "t")
        with self.indented():
            self.block_of(inner, count)
            if c.chance(12):
                self.write(f"if {self.uniform_condition(inner) if c.chance(70) else self.guard(inner)}:")
                self.write("    break")
            if not place.divergent and c.chance(self.careful - 20):
                self.write("lend.sync()")

    def while_loop(self, place: Place, count: int) -> None:
        c = self.choices
        j = self.name("j")
        bound = c.often(((3, "2"), (4, "k"), (2, "u" if "u" in place.uniform else "k"), (2, "t")))
        self.write(f"{j} = i64(0)")
        self.write(f"while {j} < {bound} and {j} < 3:")
        inner = replace(place, loops=place.loops + 1, divergent=place.divergent or bound == "t")
        with self.indented():
            self.write(f"{j} += 1")  # first: there may be a `continue`
            self.block_of(inner, count)
            if not inner.divergent and c.chance(self.careful - 20):
                self.write("lend.sync()")
        if c.chance(25):
            self.write(f"if {j} > 1:")
            with self.indented():
                self.block_of(replace(place, divergent=place.divergent or (bound == "t" and not c.chance(20))), 1)

    def through_global(self, place: Place, count: int) -> None:
        """Elements of global memory that the threads of a block exchange."""
        c, size = self.choices, self.threads
        base = f"b * {size}"
        other = c.often(((4, f"{base} + ({size} - 1 - t)"), (2, f"{base} + (t + 1) % {size}"), (3, "g"), (1, "g + 1"), (1, "t")))
        self.write(f"if {'g' if self.whole else base + f' + {size - 1}'} < N and {other} < N:")
        with self.indented():
            self.write("y[g] = v + 1.0") if c.chance(60) else self.write(f"v += y[{other}]")
        if c.chance(self.careful):
            self.sync(place)
        if c.chance(60):
            self.write(f"if {base} + {size - 1} < N and {other} < N:")
            with self.indented():
                self.write(f"v += y[{other}]")

    def atomics(self, place: Place, count: int) -> None:
        c = self.choices
        target = "a" if self.atomic and c.chance(60) else "h"
        at = c.pick(("t % 4", "0", "q[0] & 3", "(g + 1) % 4"))
        match c.below(4):
            case 0:
                self.write(f"{target}[{at}] += 1")
            case 1:
                self.write(f"v += f64({target}.add({at}, 1))")
            case 2:
                self.write(f"{target}.max({at}, i32(t))")
            case _:
                self.write(f"if {target}.load(0) > 1:")
                with self.indented():
                    self.block_of(replace(place, divergent=not c.chance(30)), 1)

    def subgroup(self, place: Place, count: int) -> None:
        c = self.choices
        if not self.subgroups or (place.divergent and not c.chance(5)):
            self.exchange(place, count)
            return
        name = c.pick(list(self.tiles))
        match c.below(5):
            case 4:
                self.write(f"if {c.pick(('t // 4 == 0', 't < 2', 't >= 4', 't // 2 == b', 'f', 't % 2 == 0', 'k > 0'))}:")
                self.write(f"    v += w.{c.pick(('shuffle_xor(v, 1)', 'reduce_add(v)', 'scan_add(v)'))}")
            case 0:
                self.write("v += w.shuffle_xor(v, 1)")
            case 1:
                self.write("v = w.reduce_add(v)")
            case _:
                self.write(f"{name}[t] = v")
                self.write("w.sync()")
                self.write(f"v += {name}[{c.pick(('t ^ 1', 't // 2 * 2', 't', '0'))}]")
                if c.chance(60):
                    self.write("w.sync()" if c.chance(60) else "lend.sync()")

    def call(self, place: Place, count: int) -> None:
        c = self.choices
        name = c.pick(list(self.tiles))
        if c.chance(50) and not place.divergent:
            self.write(f"v += exchange({name}, {c.pick(('t', self.own(name), self.subscript(name, place)))}, v)")
        else:
            self.write(f"v += fetch({name}, {self.subscript(name, place)}, {c.pick((self.tiles[name], self.threads))})")

    def skip(self, place: Place, count: int) -> None:
        """What follows in this iteration is for some threads only."""
        self.write(f"if {self.guard(place) if self.choices.chance(25) else self.uniform_condition(place)}:")
        self.write("    continue")

    def local(self, place: Place, count: int) -> None:
        c = self.choices
        name = self.name("l")
        self.write(f"{name} = lend.local(f64, 2)")
        self.write(f"{name}[0] = v")
        if c.chance(70):
            self.write(f"{name}[1] = 1.0")
        self.write(f"v += {name}[{c.pick(('0', '1', 't % 2'))}]")

    def once(self, place: Place, count: int) -> None:
        """One thread does it for all."""
        c = self.choices
        name = c.pick(list(self.tiles))
        self.write(f"if t == {c.pick(('0', str(self.threads - 1)))}:")
        with self.indented():
            self.write(f"{name}[{c.below(self.tiles[name])}] = v")
        if c.chance(self.careful):
            self.sync(place)

    def part(self, place: Place, count: int) -> None:
        """A part of a tile, or of the caller's array, by another name."""
        c, size = self.choices, self.threads
        name, u = c.pick(list(self.tiles)), self.name("u")
        length = self.tiles[name]
        if c.chance(30):
            self.write(f"{u} = y[b * {size}:b * {size} + {size}]")
            length = size
        else:
            start = c.pick(("0", "1", "b % 2", "t // 2")) if length > size else "0"
            self.write(f"{u} = {name}[{start}:{c.pick((str(length), str(size), f'{start} + {size}'))}]")
        if c.chance(50) and not place.divergent:
            self.write(f"{u}[{c.pick(('t', 't', f'{size} - 1 - t', 't // 2'))}] = v")
            if c.chance(self.careful):
                self.sync(place)
        self.write(f"v += {u}[{c.pick(('t', f'{size} - 1 - t', '0'))}]")
        if c.chance(self.careful):
            self.sync(place)

    def names(self, place: Place, count: int) -> None:
        """Two names for tiles, exchanged by some threads, in some iterations, or not."""
        c, size = self.choices, self.threads
        p, q, j = self.name("p"), self.name("q"), self.name("j")
        self.write(f"{p} = {c.pick(list(self.tiles))}")
        self.write(f"{q} = {c.pick(list(self.tiles))}")
        match c.below(4):
            case 0:
                self.write(f"if {self.uniform_condition(place) if c.chance(60) else self.guard(place)}:")
                self.write(f"    {p}, {q} = {q}, {p}")
                self.move(place, p, q)
            case _:
                self.write(f"for {j} in range({c.pick(('2', '3', '4', 'k'))}):")
                with self.indented():
                    self.move(place, p, q)
                    self.write(f"{p}, {q} = {q}, {p}")
        if c.chance(50):
            self.write(f"v += {c.pick((p, q))}[{c.pick(('t', f'{size} - 1 - t'))}]")
        if c.chance(self.careful):
            self.sync(place)

    def move(self, place: Place, p: str, q: str) -> None:
        """From one tile to another, by these names."""
        c, size = self.choices, self.threads
        if c.chance(self.careful):
            self.sync(place)
        self.write(f"{q}[{c.pick(('t', 't', f'{size} - 1 - t'))}] = {p}[{c.pick((f'(t + 1) % {size}', 't', '0'))}] + 1.0")
        if c.chance(self.careful // 2):
            self.sync(place)

    def ticket(self, place: Place, count: int) -> None:
        """What an atomic operation gives is a subscript."""
        c = self.choices
        target = "a" if self.atomic and c.chance(60) else "h"
        i, operation = (
            self.name("i"),
            c.often(((6, "add({}, 1)"), (2, "add({}, 2)"), (1, "exchange({}, i32(t))"), (1, "max({}, i32(t))"))),
        )
        at = c.often(((6, "0"), (1, "t % 2"), (1, "b % 2")))
        name = c.pick([*self.tiles, "y"])
        size = "N" if name == "y" else str(self.tiles[name])
        self.write(f"{i} = i64({target}.{operation.format(at)})")
        self.write(f"if 0 <= {i} < {size}:")
        self.write(f"    {name}[{i}] = 1.0" if c.chance(70) else f"    v += {name}[{i}]")
        if c.chance(self.careful):
            self.sync(place)

    # ------------------------------------------------------------------------------------------------ expressions

    def own(self, name: str) -> str:
        """A subscript that is another one for each thread."""
        c, size = self.choices, self.threads
        options = ["t", "t", f"{size} - 1 - t", f"(t + 1) % {size}"]
        if size in (2, 4, 8):
            options.append("t ^ 1")
        if self.tiles[name] >= 2 * size:
            options += ["2 * t", f"t + {size}", "2 * t + 1"]
        return c.pick(options)

    def subscript(self, name: str, place: Place) -> str:
        """Any element."""
        c, size, length = self.choices, self.threads, self.tiles[name]
        options = [self.own(name)] * 3 + [
            "0", str(length - 1), "t // 2", f"(t + {c.below(3)}) % {size}", f"b % {size}", f"{length} - 1 - t", "t - t % 2"
        ]  # fmt: skip
        options += [f"{j} % {length}" for j in place.uniform if j.startswith("j")]
        options += [f"t + {length - size}"]
        if c.chance(6):
            options = ["t + 1", "t - 1", "k", f"i64({c.pick(('x[0]', 'v'))})", "q[0]"]
        return c.pick(options)

    def global_value(self, place: Place) -> str:
        c = self.choices
        return c.often(((5, "1.0"), (3, "f64(t)"), (4, "(x[g] if g < N else 0.0)"), (1, "v"), (2, "f64(b)")))
