"""Random kernels for the proofs: small loop nests whose subscripts, guards and bounds are what proofs reason about.

Does: write source text; say what the arguments are.  Does not: keep to what is safe: half of it races or leaves its arrays.
Invariants: no number that is computed leaves 64 bits, but for scalars that are huge on purpose; every `while` has a counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from choices import Choices

HEADER = """\
from typing import Literal
import lend
from lend import Mut, Out, Ref, bool_, f64, i8, i32, i64, u8
from lend.dims import M, N

@lend.function
def put(array, at, value):
    array[at] = value

@lend.function
def get(array, at):
    if at < 0:
        return array[0]
    return array[at]

@lend.function
def near(at, step):
    if step > 1:
        return at + 1
    return at

"""

ARRAYS: dict[str, tuple[str, ...]] = {  # name: sizes
    "x": ("N",), "z": ("N", "M"), "q": ("N",), "y": ("N",), "w": ("N", "M"), "v": ("2 * N",), "d": ("M",), "e": ("4",),
}  # fmt: skip
READ_ONLY = ("x", "z", "q")


@dataclass(frozen=True)
class Place:
    """Where a statement stands: integers in sight, and arrays by their numbers of dimensions."""

    integers: tuple[str, ...]
    threads: tuple[str, ...] = ()
    arrays: dict[str, int] = field(default_factory=dict)
    writable: tuple[str, ...] = ()
    loop: str = ""
    grid: bool = False
    data: bool = False


class Kernels:
    """One program; `affine` says whether all its subscripts, guards and bounds are affine, and no loop is of unknown length."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.budget = choices.pick((2, 3, 5, 9))
        self.affine = True
        self.plain = choices.chance(45)  # keep to affine subscripts
        self.careful = choices.pick((50, 85, 95, 100, 100))  # how many of a hundred writes are at the thread's own place
        self.borrows: dict[str, str] = {}
        self.contracts: list[str] = []
        self.out_full: list[str] = []

    def program(self) -> str:
        """The whole source text."""
        c = self.choices
        names = [n for n in ARRAYS if n in READ_ONLY or c.chance({"y": 80, "w": 60, "v": 40, "d": 15, "e": 10}[n])]
        for name in names:
            self.borrows[name] = "Ref" if name in READ_ONLY else c.often(((3, "Mut"), (2, "Out")))
        for contract in ("M <= N", "N == M", "0 <= k and k < N", "k >= 0", "N > 0", "c == 2 or c == 1"):
            if c.chance(8):
                self.contracts.append(contract)
        arrays = {n: len(ARRAYS[n]) for n in names}
        place = Place(("N", "M", "k", "c"), (), arrays, tuple(n for n in names if self.borrows[n] != "Ref"))
        for contract in self.contracts:
            self.write(f"assert {contract}")
        focus = c.below(6)
        if focus == 0:
            self.write("for i in lend.grid(N):")
            with self.indented():
                self.scratch(replace(place, threads=("i",), grid=True))
        elif focus == 1:
            place = self.temporary(place)
        else:
            place = self.host(place, 2)
            place = self.region(place)
            if c.chance(60):
                place = self.host(place, 2)
            if c.chance(60):
                place = self.region(place)
        self.coverage(place)
        parameters = ", ".join(
            f"{n}: {self.borrows[n]}[{'i64' if n == 'q' else 'f64'}, {', '.join(self.size(s) for s in ARRAYS[n])}]" for n in names
        )
        return f"{HEADER}@lend.kernel\ndef kernel({parameters}, k: i64, c: i32, b: bool_):\n" + "\n".join(self.lines) + "\n"

    @staticmethod
    def size(text: str) -> str:
        return f"Literal[{text}]" if text.isdigit() else text

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

    def name(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    # ------------------------------------------------------------------------------------------------------ integers

    def atom(self, place: Place) -> str:
        """A name or a number."""
        c = self.choices
        if place.threads and c.chance(45):
            return c.pick(place.threads)
        name = c.pick(place.integers) if c.chance(60) else str(c.below(4))
        return "i64(c)" if name == "c" else name

    def sum(self, place: Place) -> str:
        """An affine expression."""
        c = self.choices
        first = self.atom(place)
        match c.below(7):
            case 0 | 1:
                return first
            case 2:
                return f"{first} + {c.below(3)}"
            case 3:
                return f"{first} - {c.pick((1, 1, 2))}"
            case 4:
                return f"{c.pick((2, 3))} * {first} + {c.below(3)}"
            case 5:
                return f"{first} {c.pick('+-')} {self.atom(place)}"
            case _:
                return f"{c.pick(('N', 'M', '2 * N'))} - 1 - {first}"

    def integer(self, place: Place) -> str:
        """An integer: affine, or nearly so, or data."""
        c = self.choices
        a = self.sum(place)
        if self.plain or c.chance(55):
            return a
        kind = c.below(16)
        if kind in (0, 1):
            return f"({a}) // {c.pick((2, 3, 2, -2))}"
        if kind == 2:
            return f"({a}) % {c.pick((2, 3, 4))}"
        self.affine = self.affine and kind not in (3, 9, 10, 11, 13, 14, 15)
        match kind:
            case 3:
                return f"({a}) % {c.pick(('N', 'M'))}"
            case 4:
                return f"({a}) & {c.pick((1, 3, 7))}"
            case 5:
                return f"({a}) >> {c.pick((1, 2))}"
            case 6:
                return f"min({a}, {self.sum(place)})"
            case 7:
                return f"max({a}, {self.sum(place)})"
            case 8:
                self.affine = self.affine and not place.data
                return f"({a} if {self.guard(place)} else {self.sum(place)})"
            case 9:
                if "q" in place.arrays:
                    return f"q[{a}]"
                return a
            case 10:
                return f"({a}) // {c.pick(('N', 'M'))}"
            case 11:
                return f"{self.atom(place)} * {self.atom(place)}"
            case 14 | 15:
                return self.divided(a, place)
            case 13:  # these wrap for small numbers
                return f"i64({c.pick(('i8', 'u8'))}({c.pick((1, 64, 85, 127))} * ({a}))){c.pick(('', ' // 64', ' % 5'))}"
            case _:
                return f"near({a}, {self.atom(place)})"

    def divided(self, a: str, place: Place) -> str:
        """A quotient or remainder by a scalar, an index or data, which may be 0 or negative, unless that is asked first."""
        c = self.choices
        by = c.often(((3, "k"), (2, "c"), (2, self.atom(place)), (1, f"(k {c.pick('+-')} {self.atom(place)})"), (1, "(k + 1)")))
        if "q" in place.arrays and c.chance(25):
            by = f"q[{self.index(place, 'N')}]"
        whole = f"({a}) {c.pick(('//', '%'))} {by}"
        return c.often(
            (
                (3, f"({whole})"),
                (2, f"({whole} if {by} {c.pick(('>', '!=', '>=', '<'))} 0 else {a})"),
                (1, f"(({a}) {c.pick(('//', '%'))} max({by}, {c.below(2)}))"),
            )
        )

    def guard(self, place: Place) -> str:
        """A condition."""
        c = self.choices
        if not self.plain and place.threads and c.chance(15):
            self.affine = False
            return f"x[{place.threads[0]}] > 0.0"
        if c.chance(6):
            return c.pick(("b", "not b"))
        kind = c.below(10) if not self.plain else c.below(7)
        match kind:
            case 0 | 1:
                return f"{self.sum(place)} {c.pick(('<', '<=', '>', '>=', '==', '!='))} {self.sum(place)}"
            case 2:
                a = self.sum(place)
                return f"0 <= {a} and {a} < {c.pick(('N', 'M', '4'))}"
            case 3:
                return f"{self.sum(place)} < {c.pick(('N', 'M'))} - {c.below(3)}"
            case 4:
                return f"not ({self.sum(place)} < {self.sum(place)})"
            case 5:
                return f"{self.sum(place)} >= 1 and {self.sum(place)} <= {self.sum(place)}"
            case 6:
                return f"{self.sum(place)} == {c.below(3)} or {self.sum(place)} > {self.sum(place)}"
            case 7:
                return f"({self.sum(place)}) % 2 == {c.below(2)}"
            case 8:
                self.affine = False
                return f"x[{place.threads[0] if place.threads and c.chance(60) else self.index(place, 'N')}] > 0.0"
            case _:
                self.affine = False
                return f"x[{self.index(place, 'N')}] > 0.0 and {self.sum(place)} < {self.sum(place)}"

    def index(self, place: Place, size: str) -> str:
        """A subscript; often one that is inside."""
        c = self.choices
        if c.chance(30) and place.grid and place.threads:
            return c.pick(place.threads)
        if c.chance(10) and not self.plain:
            self.affine = False
            return f"({self.sum(place)}) % {size}"
        return self.integer(place)

    # ---------------------------------------------------------------------------------------------------- statements

    def host(self, place: Place, most: int) -> Place:
        """Host-level statements."""
        c = self.choices
        for _ in range(c.below(most)):
            match c.below(11):
                case 9 | 10:
                    place = self.temporary(place)
                case 0 | 1:
                    name = self.name("t")
                    size = c.pick((("N",), ("N", "M"), ("M",), ("N + 1",)))
                    self.write(f"{name} = lend.{c.pick(('empty', 'empty', 'zeros'))}(f64, {', '.join(size)})")
                    place = replace(place, arrays={**place.arrays, name: len(size)}, writable=(*place.writable, name))
                case 2 | 3:
                    name = c.pick((self.name("h"), *(n for n in place.integers if n[0] in "hn")))
                    self.write(f"{name} = i64({self.integer(place)})")
                    place = replace(place, integers=tuple(dict.fromkeys((*place.integers, name))))
                case 4:
                    index = self.name("s")
                    self.write(f"for {index} in range({self.bounds(place)}):")
                    with self.indented():
                        inside = replace(place, integers=(*place.integers, index))
                        inside = self.host(inside, 2)
                        self.region(inside)
                        if c.chance(15):
                            self.affine = False
                            self.write(f"if {self.guard(inside)}:")
                            self.write("    break")
                case 5:
                    self.write(f"if {self.guard(place)}:")
                    with self.indented():
                        self.region(place)
                    if c.chance(40):
                        self.write("else:")
                        with self.indented():
                            self.region(place)
                case 6:
                    array = c.pick(tuple(place.arrays))
                    place = self.view(place, array)
                case 7:
                    same = [n for n in place.writable if place.arrays[n] == 1 and n[0] == "t"]
                    if len(same) > 1:
                        self.write(f"{same[0]}, {same[1]} = {same[1]}, {same[0]}")
                case _:
                    place = self.region(place)
        return place

    def temporary(self, place: Place) -> Place:
        """A temporary, written in one loop and read in another, at host level perhaps inside loops and branches."""
        c = self.choices
        name, size = self.name("t"), c.pick(("N", "N", "M", "N + 1"))
        self.write(f"{name} = lend.empty(f64, {size})")
        after = replace(place, arrays={**place.arrays, name: 1}, writable=(*place.writable, name))
        inside = after
        depth = self.depth
        if c.chance(35):
            index = self.name("s")
            self.write(f"for {index} in range({c.pick(('3', 'N', self.bounds(place)))}):")
            inside = replace(inside, integers=(*inside.integers, index))
            self.depth += 1
        if c.chance(25):
            self.write(f"if {self.guard(inside)}:")
            self.depth += 1
        whole = c.chance(60)
        self.write(f"for i in lend.grid({size if whole else self.extent(inside)}):")
        with self.indented():
            if c.chance(25):
                self.write(f"if {self.guard(replace(inside, threads=('i',), grid=True))}:")
                self.depth += 1
                self.write(f"{name}[i] = 1.0")
                self.depth -= 1
                if c.chance(50):
                    self.write("else:")
                    self.write(f"    {name}[i] = 2.0")
            else:
                self.write(
                    f"{name}[{c.pick(('i', 'i', 'i', f'{size} - 1 - i', self.integer(replace(inside, threads=('i',)))))}] = 1.0"
                )
        self.depth = c.pick((depth, self.depth))
        seen = inside if self.depth > depth else after
        one = [n for n in place.writable if place.arrays[n] == 1]
        self.write(f"for i in lend.grid({c.pick((size, size, self.extent(seen)))}):")
        with self.indented():
            reader = replace(seen, threads=("i",), grid=True)
            if c.chance(35):
                self.write(f"if {self.guard(reader)}:")
                self.depth += 1
            at = c.pick(("i", "i", self.integer(reader)))
            self.write(f"{c.pick(one)}[i] = {name}[{at}]" if one else f"if {name}[{at}] > 0.0:\n{'    ' * (self.depth + 1)}pass")
        self.depth = depth
        return after

    def bounds(self, place: Place) -> str:
        """What `range` takes."""
        c = self.choices
        match c.below(6):
            case 0 | 1:
                return self.sum(place) if c.chance(50) else c.pick(("N", "M", "3", "2"))
            case 2:
                return f"{c.below(3)}, {self.sum(place)}"
            case 3:
                return f"{self.sum(place)}, {c.pick(('N', 'M'))}"
            case 4:
                return f"{c.below(2)}, {c.pick(('N', 'M'))}, {c.pick((2, 3))}"
            case _:
                return f"{self.sum(place)}, {c.pick((-1, 0))}, {c.pick((-1, -2))}"

    def extent(self, place: Place) -> str:
        """What `lend.grid` takes for one index."""
        c = self.choices
        match c.below(7):
            case 0 | 1 | 2:
                return c.pick(("N", "M", "N", "4"))
            case 3:
                return f"{c.pick(('N', 'M'))} - {c.pick((1, 2))}"
            case 4:
                return self.integer(place)
            case 5:
                return f"({self.sum(place)}, {c.pick(('N', 'M'))})"
            case _:
                return f"({c.below(2)}, {c.pick(('N', 'M'))}, {c.pick((2, 3))})"

    def region(self, place: Place) -> Place:
        """A parallel loop."""
        c = self.choices
        if self.budget < 0:
            return place
        dimensions = c.often(((3, 1), (2, 2)))
        threads = ("i", "j")[:dimensions]
        extents = [self.extent(place) for _ in threads]
        two = [n for n in place.writable if place.arrays[n] == 2]
        if dimensions == 2 and two and c.chance(50):
            extents = ["N", "M"]
        elif self.choices.chance(40):
            extents = [c.pick(("N", "N", "N - 1", "(1, N)")), c.pick(("M", "M", "M - 1", "(1, M)"))][:dimensions]
        self.write(f"for {', '.join(threads)} in lend.grid({', '.join(extents)}):")
        inside = replace(place, threads=threads, grid=True)
        with self.indented():
            self.block(inside, 1 + c.below(3))
        return place

    def block(self, place: Place, most: int) -> Place:
        """Statements inside a parallel loop."""
        for _ in range(most):
            if self.budget < 0:
                break
            place = self.statement(place)
        return place

    def statement(self, place: Place) -> Place:
        c = self.choices
        self.budget -= 1
        match c.often(
            ((9, 0), (3, 1), (4, 2), (3, 3), (1, 4), (1, 5), (2, 6), (1, 7), (1, 8), (2, 9), (2, 10), (2, 11), (2, 12))
        ):
            case 0:
                self.store(place)
            case 1:
                old = [n for n in place.integers if n[0] == "a"]
                name = c.pick(old) if old and c.chance(50) else self.name("a")
                if name in old and c.chance(50):
                    self.write(f"{name} += {c.pick(('1', '2', self.atom(place)))}")
                    return place
                self.write(f"{name} = i64({self.integer(place)})")
                return replace(place, integers=tuple(dict.fromkeys((*place.integers, name))))
            case 2:
                self.write(f"if {self.guard(place)}:")
                with self.indented():
                    self.block(place, 1 + c.below(2))
                if c.chance(35):
                    self.write("else:")
                    with self.indented():
                        self.block(place, 1)
            case 3:
                index = self.name("m")
                self.write(f"for {index} in range({self.bounds(place)}):")
                with self.indented():
                    inside = replace(place, integers=(*place.integers, index), loop="for")
                    self.block(inside, 1 + c.below(2))
                    if c.chance(15):
                        self.affine = False
                        self.write(f"if {self.guard(inside)}:")
                        self.write(f"    {c.pick(('break', 'continue'))}")
                        self.block(inside, 1)
            case 4:
                self.loop(place)
            case 5:
                self.write(f"if {self.guard(place)}:")
                self.write("    continue")
                if place.loop == "while":
                    self.lines[-1] = self.lines[-1].replace("continue", "break")
            case 6:
                return self.view(place, c.pick(tuple(place.arrays)))
            case 7:
                name = self.name("l")
                self.write(f"{name} = lend.local(f64, {c.pick((2, 3, 4))})")
                if c.chance(70):
                    self.write(f"for {name}m in range({c.pick((2, 3, 4))}):")
                    self.write(f"    {name}[{name}m] = 1.0")
                return replace(place, arrays={**place.arrays, name: 1}, writable=(*place.writable, name))
            case 9:
                return self.accumulate(place)
            case 10:
                return self.scratch(place)
            case 11:
                self.pitched(place)
            case 12:
                return self.renamed(place)
            case _:
                one = [n for n in place.writable if place.arrays[n] == 1]
                if one:
                    self.write(f"put({c.pick(one)}, {self.own(place, 1)[0]}, 2.0)")
        return place

    def accumulate(self, place: Place) -> Place:
        """A number that a loop moves, used inside and after it."""
        c = self.choices
        name, index = self.name("a"), self.name("m")
        self.write(f"{name} = i64({self.sum(place)})")
        place = replace(place, integers=(*place.integers, name))
        self.write(f"for {index} in range({self.bounds(place)}):")
        inside = replace(place, integers=(*place.integers, index), loop="for")
        with self.indented():
            if c.chance(40):
                self.use(inside, name)
            step = f"{name} {c.pick(('+=', '+=', '-='))} {c.pick(('1', '2', '1', index))}"
            if c.chance(30):
                self.write(f"if {self.guard(inside)}:")
                self.write(f"    {step}")
            else:
                self.write(step)
            if c.chance(25):
                self.affine = False
                self.write(f"if {self.guard(inside)}:")
                self.write("    break")
            if c.chance(30):
                self.use(inside, name)
        if c.chance(80):
            self.use(place, name)
        return place

    def pitched(self, place: Place) -> None:
        """A read at a subscript that is not linear, of an array or of a slice of it."""
        self.affine = False
        c = self.choices
        one = [n for n in place.writable if place.arrays[n] == 1]
        if not one:
            return
        name = c.pick([n for n in place.arrays if place.arrays[n] == 1 and n != "q"])
        at = self.polynomial(place, 2)
        if c.chance(25):
            view = self.name("u")
            lower = self.polynomial(place, 1)
            self.write(f"{view} = {name}[{lower}:{lower} + {c.pick(('1', '2', 'k'))}]")
            name, at = view, c.pick(("0", "1", self.atom(place)))
        if c.chance(40):
            index = self.name("m")
            self.write(f"for {index} in range({self.bounds(place)}):")
            with self.indented():
                inside = replace(place, integers=(*place.integers, index), loop="for")
                self.write(
                    f"{c.pick(one)}[{self.own(place, 1)[0]}] = {name}[{at if c.chance(30) else self.polynomial(inside, 2)}]"
                )
            return
        self.write(f"{c.pick(one)}[{self.own(place, 1)[0]}] = {name}[{at}]")

    def polynomial(self, place: Place, depth: int) -> str:
        """Products of what is known at run time only, and what divides and bounds them."""
        c = self.choices
        if depth == 0:
            return c.pick(("k", "i64(c)", self.atom(place), self.atom(place), str(c.below(4))))
        a, b = self.polynomial(place, depth - 1), self.polynomial(place, depth - c.pick((1, 1, 2)) if depth > 1 else 0)
        match c.below(12):
            case 0 | 1 | 2 | 3:
                return f"({a} * {b})"
            case 4 | 5:
                return f"({a} + {b})"
            case 6:
                return f"({a} - {b})"
            case 7:
                return f"min({a}, {b})"
            case 8:
                return f"max({a}, {b})"
            case 9:
                return f"({a} // {c.pick(('k', 'N', '2'))})"
            case 10:
                return f"({a} % {c.pick(('k', 'M', '3'))})"
            case _:
                return f"i64(i32({a} * {b}))"

    def use(self, place: Place, name: str) -> None:
        """A read or a write at a number."""
        c = self.choices
        at = f"{name}{c.pick(('', '', ' - 1', ' + 1', ' - 2', ' - 3', f' - {self.atom(place)}'))}"
        two = [n for n in place.writable if place.arrays[n] == 2]
        if two and c.chance(40):
            self.write(f"{c.pick(two)}[{c.pick(place.threads)}, {at}] = 1.0")
        elif c.chance(30):
            self.store(replace(place, threads=(name,)))
        else:
            self.write(f"if x[{at}] > 0.0:")
            with self.indented():
                self.store(place)

    def scratch(self, place: Place) -> Place:
        """A private array, written here and there and read."""
        c = self.choices
        name, size = self.name("l"), c.pick((1, 2, 3))
        self.write(f"{name} = lend.local(f64, {size})")
        place = replace(place, arrays={**place.arrays, name: 1}, writable=(*place.writable, name))

        def write(place: Place) -> None:
            data = f"q[{self.index(place, 'N')}] % {size}"
            self.write(f"{name}[{c.often(((4, str(c.below(size))), (2, self.integer(place)), (1, data)))}] = 1.0")

        for _ in range(1 + c.below(2)):
            match c.below(4):
                case 0:
                    write(place)
                case 1:
                    index = self.name("m")
                    self.write(f"for {index} in range({c.pick((str(size), self.bounds(place)))}):")
                    with self.indented():
                        if c.chance(30):
                            self.write(f"if {self.guard(replace(place, integers=(*place.integers, index)))}:")
                            self.write("    break")
                            self.affine = False
                        self.write(f"{name}[{index}] = 1.0")
                case _:
                    self.write(f"if {self.guard(place)}:")
                    with self.indented():
                        write(place)
                    if c.chance(60):
                        self.write("else:")
                        with self.indented():
                            write(place)
        target = self.own(place, 1)[0]
        one = [n for n in place.writable if place.arrays[n] == 1 and n != name]
        if one:
            self.write(f"{c.pick(one)}[{target}] = {name}[{c.pick((str(c.below(size)), self.integer(place)))}]")
        return place

    def loop(self, place: Place) -> None:
        """A while loop with a counter."""
        c = self.choices
        self.affine = False
        name, step = self.name("p"), c.pick((1, 2, 1))
        down = c.chance(25)
        self.write(f"{name} = i64({self.sum(place)})")
        fixed = replace(place, integers=tuple(n for n in place.integers if n[0] != "a"))  # what the loop does not change
        test = f"{name} > {c.below(2)}" if down else f"{name} < {self.sum(fixed)}"
        if c.chance(30):
            test += f" and ({self.guard(place)})"
        self.write(f"while {test}:")
        with self.indented():
            inside = replace(place, integers=(*place.integers, name), loop="while")
            early = c.chance(50)
            if early:
                self.write(f"{name} {'-' if down else '+'}= {step}")
            self.block(inside, 1)
            if not early:
                self.write(f"{name} {'-' if down else '+'}= {step}")
        if c.chance(50):
            self.store(replace(place, integers=(*place.integers, name)))

    def own(self, place: Place, dimensions: int) -> list[str]:
        """Subscripts for a write, often of the thread's own element."""
        c = self.choices
        if place.threads and c.chance(self.careful):
            if dimensions == len(place.threads):
                return list(place.threads)
            if dimensions == 1:
                i = place.threads[0]
                return [
                    c.often(
                        (
                            (9, i),
                            (1, f"2 * {i}"),
                            (1, f"N - 1 - {i}"),
                            (1, f"{i} + 1"),
                            (1, f"{i} * 2 + {c.below(2)}"),
                            (1, f"{i} // 1"),
                        )
                    )
                ]
            return c.pick(([place.threads[0], self.integer(place)], [self.integer(place), place.threads[0]]))
        return [self.index(place, size) for size in ("N", "M")[:dimensions]]

    def value(self, place: Place) -> str:
        """A float."""
        c = self.choices
        if c.chance(55):
            return c.pick(("1.0", "2.0", f"f64({self.integer(place)})"))
        reads = [n for n in place.arrays if n != "q" and n not in place.writable]
        own = [n for n in place.writable if place.arrays[n] == len(place.threads)]
        if own and c.chance(25):
            return f"{c.pick(own)}[{', '.join(place.threads)}]"
        name = c.pick(reads if c.chance(self.careful) else [n for n in place.arrays if n != "q"])
        if place.arrays[name] == 1 and c.chance(15):
            return f"get({name}, {self.integer(place)})"
        return f"{name}[{', '.join(self.index(place, s) for s in ('N', 'M')[: place.arrays[name]])}]"

    def store(self, place: Place) -> None:
        """A write."""
        c = self.choices
        if not place.writable:
            return
        name = c.pick(place.writable)
        target = f"{name}[{', '.join(self.own(place, place.arrays[name]))}]"
        value = self.value(place)
        self.write(f"{target} {c.often(((4, '='), (1, '+=')))} {value}")

    def view(self, place: Place, array: str) -> Place:
        """A sub-view."""
        c = self.choices
        name = self.name("u")
        dimensions = place.arrays[array]
        if array == "q":
            return place
        parts, kept = [], 0
        for _ in range(dimensions):
            if dimensions == 2 and c.chance(50) and not (kept == 0 and len(parts) == 1):
                parts.append(self.sum(place))
                continue
            kept += 1
            a = self.sum(place)
            parts.append(c.pick((f"{a}:{a} + 2", f"{c.below(2)}:{c.pick(('N', 'M'))}", f"{a}:", f"{c.below(2)}::2", f":{a}")))
        self.write(f"{name} = {array}[{', '.join(parts)}]")
        writable = (*place.writable, name) if array in place.writable else place.writable
        return replace(place, arrays={**place.arrays, name: kept}, writable=writable)

    def renamed(self, place: Place) -> Place:
        """Two names of arrays, or of their parts, that some iterations exchange: what one calls p another calls q."""
        c = self.choices
        one = [n for n in place.writable if place.arrays[n] == 1]
        if not place.grid or not one:
            return place
        self.affine = False
        p, q, array = self.name("p"), self.name("q"), c.pick(one)
        part = c.often(((5, ""), (1, "[1:]"), (1, f"[:{self.sum(place)}]")))
        self.write(f"{p} = {array}{part}")
        self.write(f"{q} = {c.pick(one)}" if c.chance(60) else f"{q} = {array}{c.pick(('', '[1:]', '[:N]'))}")
        inner = replace(place, arrays={**place.arrays, p: 1, q: 1}, writable=(p, q))
        exchange = c.often(((6, f"{p}, {q} = {q}, {p}"), (2, f"{p} = {q}"), (1, f"{p} = {p}[1:]")))
        if c.chance(50):
            self.write(f"if {self.guard(place)}:")
            self.write(f"    {exchange}")
        else:
            index = self.name("m")
            self.write(f"for {index} in range({self.bounds(place)}):")
            with self.indented():
                self.block(replace(inner, integers=(*place.integers, index), loop="for"), 1)
                self.write(exchange)
        self.store(inner)
        return replace(inner, writable=(*place.writable, p, q))

    def coverage(self, place: Place) -> None:
        """Often: write what has to be written whole."""
        c = self.choices
        for name, borrow in self.borrows.items():
            if borrow != "Out" or not c.chance(75):
                continue
            sizes = ARRAYS[name]
            threads = ("i", "j")[: len(sizes)]
            match c.below(4) if len(sizes) == 1 else 0:
                case 1:
                    half = f"({sizes[0]} + 1) // 2"
                    self.write(f"for i in lend.grid({half}):")
                    self.write(f"    {name}[i] = 1.0")
                    self.write(f"for i in lend.grid(({half}, {sizes[0]})):")
                    self.write(f"    {name}[i] = 2.0")
                case 2:
                    self.write(f"for i in lend.grid({sizes[0]}):")
                    self.write(f"    {name}[{sizes[0]} - 1 - i] = 1.0")
                case 3:
                    self.write(f"for i in lend.grid({sizes[0]}):")
                    self.write(f"    if {self.guard(replace(place, threads=('i',), grid=True))}:")
                    self.write(f"        {name}[i] = 1.0")
                    self.write("    else:")
                    self.write(f"        {name}[i] = 2.0")
                case _:
                    self.write(f"for {', '.join(threads)} in lend.grid({', '.join(sizes)}):")
                    self.write(f"    {name}[{', '.join(threads)}] = 1.0")
