"""Generates kernels whose accesses are all proved, so that their loops are tiled: boxes, masks, nested loops, odd subscripts.

Does: keep to what lend accepts and proves.  Does not: run anything.
Invariants: an array that is written is touched at one place per iteration; every loop ends; no division is by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from choices import Choices
from expression_source import Expressions, Node
from values import BITS, FLOATS, INTEGERS, SIGNED

REAL = (*INTEGERS, *FLOATS)
TYPES = (*REAL, "bool_")
COMMON = ("f64", "i64", "f32", "i32", "u8", "bool_")
FIELDS = {"x": "f64", "n": "i32", "ok": "bool_", "h": "f32", "c": "u8"}
HEADER = """\
import math
import numpy as np
import lend
from lend import Index, Mut, Offsets, Ref, Unique, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from lend.dims import K, M, N

class K2(lend.Dim):
    equals = 2 * K

class M2(lend.Dim):
    equals = 2 * M

class N2(lend.Dim):
    equals = 2 * N

class N1(lend.Dim):
    equals = N + 1

@lend.struct
class P:
    x: f64
    n: i32
    ok: bool_
    h: f32
    c: u8

"""
DIMS = ("N", "M", "K")


class Proved(Expressions):
    """Expressions without anything that could fail: divisors are constants, shifts are by unsigned or constant counts."""

    def integer_function(self, type: str, depth: int) -> Node:
        while True:
            found = super().integer_function(type, depth)
            if not found.text.startswith(("math.gcd", "math.lcm")):  # they divide
                return found

    def shift(self, type: str, depth: int) -> Node:
        a, op = self.of(type, depth), self.choices.pick(("<<", ">>"))
        if type in SIGNED or self.choices.chance(40):
            count = self.choices.pick((1, 3, BITS[type] - 1, BITS[type], 100))
            return Node(f"({a.text} {op} {count})", type, (a,))
        return Node(f"({a.text} {op} {self.of(type, depth).text})", type, (a,))

    def divisor(self, type: str, depth: int) -> Node:
        if type not in INTEGERS:
            return self.of(type, depth)
        value = self.choices.pick([n for n in (1, 2, 3, 7, 10, 64, -1, -3, 100) if n > 0 or type in SIGNED])
        return Node(f"({value})" if value < 0 else str(value), type)

    def integer_power(self, type: str, depth: int) -> Node:
        a = self.of(type, depth)
        if type in SIGNED or self.choices.chance(50):
            return Node(f"({a.text} ** {self.choices.pick((2, 3, 4, 0, 1, 5, 7))})", type, (a,))
        return Node(f"({a.text} ** {self.of(type, depth).text})", type, (a,))


@dataclass(frozen=True)
class Scope:
    """What a statement sees. `indices`: loop indices that lie in a dimension; `loop`: what `break` and `continue` would leave."""

    names: dict[str, str]
    indices: dict[str, str] = field(default_factory=dict)
    loop: str = ""
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)  # views: name -> type and dimension
    reductions: dict[str, tuple[str, str]] = field(default_factory=dict)


class TiledKernels:
    """One program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.depth = 0
        self.fresh = 0
        self.budget = 14
        self.loops = 0
        self.parameters: dict[str, str] = {}  # name -> annotation
        self.functions: list[tuple[str, str, str]] = []  # name, types of its arguments, of its result
        self.written: list[tuple[str, str]] = []  # the place of an iteration, its type
        self.dimensions = choices.often(((5, 1), (5, 2), (2, 3)))

    def program(self) -> str:
        """The whole source text."""
        for _ in range(self.choices.below(3)):
            self.function()
        functions, self.lines = self.lines, []
        with self.indented():
            self.grid()
        body, self.lines = self.lines, []
        scalars = ["k: i64", "t: f64", "c: i32", "s: u8", "f: f32"]
        parameters = ", ".join([*(f"{name}: {annotation}" for name, annotation in self.parameters.items()), *scalars])
        lines = [*functions, '@lend.kernel(math="strict")', f"def kernel({parameters}):", *body]
        return HEADER + "\n".join(lines) + "\n"

    # ---------------------------------------------------------------------------------------------------------- writing

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def parameter(self, annotation: str, reuse: int = 75) -> str:
        """A parameter of that kind: one that is there, or a new one."""
        found = [name for name, kind in self.parameters.items() if kind == annotation]
        if found and self.choices.chance(reuse):
            return self.choices.pick(found)
        name = self.name("x")
        self.parameters[name] = annotation
        return name

    # ------------------------------------------------------------------------------------------------------- expressions

    def expression(self, scope: Scope, type: str, depth: int | None = None) -> str:
        depth = self.choices.often(((4, 1), (4, 2), (1, 3))) if depth is None else depth
        types = COMMON if self.choices.chance(60) else TYPES
        types = types if type in types else (*types, type)
        return Proved(self.choices, lambda kind: self.leaf(scope, kind), types, faults=0, inexact=False).of(type, depth).text

    def leaf(self, scope: Scope, type: str) -> Node | None:
        """A name, a load, a call."""
        names = [name for name, kind in scope.names.items() if kind == type]
        names += [*scope.indices, "N"] if type == "i64" else []
        options: list[tuple[int, Callable[[], str]]] = [(8, lambda: self.choices.pick(names))] if names else []
        if scope.indices:
            options.append((8, lambda: self.read(scope, type)))
            fields = [name for name, kind in FIELDS.items() if kind == type]
            own = [place for place, kind in self.written if kind == type]
            rows = [f"{row}[{at}]" for row, (kind, dim) in scope.rows.items() if kind == type for at in self.of_dim(scope, dim)]
            options += [(1, lambda: f"{self.read(scope, 'P')}.{self.choices.pick(fields)}")] if fields else []
            options += [(4, lambda: self.choices.pick(own))] if own else []
            options += [(9, lambda: self.choices.pick(rows))] if rows else []
        calls = [(name, takes) for name, takes, gives in self.functions if gives == type]
        if calls:
            options.append((4, lambda: self.call(scope, *self.choices.pick(calls))))
        return Node(self.choices.often(options)(), type) if options else None

    def call(self, scope: Scope, name: str, takes: str) -> str:
        """A call of a device function."""
        functions, self.functions = self.functions, []
        arguments = f"{self.expression(scope, takes, 0)}, {self.expression(scope, 'i64', 0)}"
        self.functions = functions
        return f"{name}({arguments})"

    def of_dim(self, scope: Scope, dim: str) -> list[str]:
        return [name for name, kind in scope.indices.items() if kind == dim]

    def read(self, scope: Scope, type: str) -> str:
        """An element of an array that is only read."""
        rank = self.choices.often(((6, 1), (5, 2), (1, 3)))
        pieces = [self.subscript(scope) for _ in range(rank)]
        name = self.parameter(f"Ref[{type}, {', '.join(dim for _, dim in pieces)}]")
        return f"{name}[{', '.join(text for text, _ in pieces)}]"

    def subscript(self, scope: Scope) -> tuple[str, str]:
        """A subscript that is inside, and its dimension."""
        at, dim = self.choices.pick(list(scope.indices.items()))
        kind = self.choices.often(
            ((8, "plain"), (2, "mirrored"), (2, "even"), (1, "odd"), (1, "half"), (1, "first"), (2, "gather"), (1, "clamped"))
        )
        match kind:
            case "mirrored":
                return f"{dim} - 1 - {at}", dim
            case "even":
                return f"2 * {at}", f"{dim}2"
            case "odd":
                return f"2 * {at} + 1", f"{dim}2"
            case "half":
                return f"{at} // 2", dim
            case "first":
                return "0", dim
            case "gather":
                to = self.choices.pick(list(dict.fromkeys(scope.indices.values())))
                return f"{self.parameter(f'Ref[Index[{to}], {dim}]')}[{at}]", to
            case "clamped":
                return f"min({at} + 1, {dim} - 1)", dim
            case _:
                return at, dim

    # ---------------------------------------------------------------------------------------------------------- programs

    def function(self) -> None:
        """A device function of two numbers."""
        name, takes, gives = self.name("fun"), self.choices.pick(TYPES), self.choices.pick(REAL)
        self.lines += ["@lend.function", f"def {name}(a, n):"]
        budget, self.budget = self.budget, 4
        with self.indented():
            scope = self.statements(Scope({"a": takes, "n": "i64"}), 2, 2)
            if self.choices.chance(50):
                self.write(f"if {self.expression(scope, 'bool_', 1)}:")
                self.write(f"    return {self.expression(scope, gives, 1)}")
            self.write(f"return {self.expression(scope, gives, 1)}")
        self.budget = budget
        self.lines.append("")
        self.functions.append((name, takes, gives))

    def grid(self) -> None:
        """The parallel loop, and what it returns."""
        indices = {f"i{d}": dim for d, dim in enumerate(self.choices.pick((DIMS, DIMS, ("M", "N", "K")))[: self.dimensions])}
        if self.dimensions == 2 and self.choices.chance(15):
            indices["i1"] = indices["i0"]
        extents: list[str] = []
        for dim in indices.values():
            extents.append(self.choices.often((
                (12, dim), (2, f"(1, {dim})"), (2, f"(0, {dim}, 2)"), (1, f"(0, {dim} - 1)"), (1, f"({dim} // 3, {dim})"),
                (2, f"(1, {dim}, 3)"), (1, f"({dim} - 1, -1, -1)"), (1, f"({dim} - 1, 0, -2)"),
            )))  # fmt: skip
        scope = Scope({"k": "i64", "t": "f64", "c": "i32", "s": "u8", "f": "f32"}, indices)
        for _ in range(self.choices.below(2)):  # captured values that are computed
            type, name = self.choices.pick(TYPES), self.name("b")
            self.write(f"{name} = {self.expression(Scope(scope.names), type, 1)}")
            scope = replace(scope, names={**scope.names, name: type})
        reductions: dict[str, tuple[str, str]] = {}
        for _ in range(self.choices.often(((6, 0), (3, 1), (2, 2)))):
            op, name = self.choices.pick(("+=", "*=", "min", "max", "&=", "|=", "^=", "best")), self.name("s")
            type = self.choices.pick((*INTEGERS, "bool_") if op in ("&=", "|=", "^=") else REAL)
            self.write(f"{name} = ({type}(1), i64(-1))" if op == "best" else f"{name} = {type}(1)")
            reductions[name] = (op, type)
        self.targets(scope)
        self.write(f"for {', '.join(indices)} in lend.grid({', '.join(extents)}):")
        with self.indented():
            end = self.statements(replace(scope, loop="grid", reductions=reductions), 2 + self.choices.below(4), 3)
            self.store(end)
            self.contributions(end)
        if reductions:
            parts = [f"{name}[0], {name}[1]" if op == "best" else name for name, (op, _) in reductions.items()]
            self.write(f"return {', '.join(parts)}")

    def targets(self, scope: Scope) -> None:
        """Arrays that the loop writes, each at one place of an iteration."""
        for _ in range(1 + self.choices.below(3)):
            pieces: list[tuple[str, str]] = []
            for at, dim in scope.indices.items():
                kind = self.choices.often(((9, "plain"), (2, "mirrored"), (2, "even")))
                pieces.append(
                    {"plain": (at, dim), "mirrored": (f"{dim} - 1 - {at}", dim), "even": (f"2 * {at}", f"{dim}2")}[kind]
                )
            if self.dimensions == 2 and self.choices.chance(30):
                pieces.reverse()
            type = self.choices.pick((*COMMON, *TYPES, "P"))
            if self.dimensions == 1 and self.choices.chance(12):
                dim = pieces[0][1].rstrip("2")
                pieces = [(f"{self.parameter(f'Ref[Unique[{dim}], {dim}]')}[i0]", dim)]
            name = self.parameter(f"Mut[{type}, {', '.join(dim for _, dim in pieces)}]", 0)
            place = f"{name}[{', '.join(text for text, _ in pieces)}]"
            if type == "P":
                self.written += [(f"{place}.{part}", kind) for part, kind in FIELDS.items()]
            else:
                self.written.append((place, type))

    # -------------------------------------------------------------------------------------------------------- statements

    def statements(self, scope: Scope, count: int, depth: int) -> Scope:
        """Some statements; the scope after them. Writes at least one."""
        start = len(self.lines)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            options = [(16, self.assign), (10, self.change), (6, self.divide)]
            if depth > 0:
                options += [(16, self.branch)]
                if self.loops < 2:
                    options += [(12, self.counted), (8, self.repeated)]
            if self.written and scope.indices:
                options += [(16, self.store), (4, self.row)]
            if scope.loop:
                options += [(6, self.leave)]
            scope = self.choices.often(options)(scope, depth - 1)
        if len(self.lines) == start:
            self.write("pass")
        return scope

    def assign(self, scope: Scope, depth: int = 0) -> Scope:
        type, name = self.choices.pick(COMMON if self.choices.chance(60) else TYPES), self.name("a")
        self.write(f"{name} = {self.expression(scope, type)}")
        return replace(scope, names={**scope.names, name: type})

    def change(self, scope: Scope, depth: int = 0) -> Scope:
        names = [name for name in scope.names if name[0] == "a" and name != "a"]
        if not names:
            return self.assign(scope)
        name = self.choices.pick(names)
        type = scope.names[name]
        op = "=" if type == "bool_" else self.choices.pick(("=", "+=", "-=", "*="))
        self.write(f"{name} {op} {self.expression(scope, type)}")
        return scope

    def divide(self, scope: Scope, depth: int = 0) -> Scope:
        """A division that only a condition keeps from failing."""
        if not scope.indices:
            return self.assign(scope)
        type, divisor, result = self.choices.pick(("i64", "i32", "u8", "u32", "i8")), self.name("d"), self.name("a")
        self.write(f"{divisor} = {self.read(scope, type)}")
        self.write(f"{result} = {type}(1)")
        self.write(f"if {divisor} {self.choices.pick(('> 0', '!= 0'))}:")
        self.write(f"    {result} = {self.expression(scope, type, 1)} {self.choices.pick(('//', '%'))} {divisor}")
        return replace(scope, names={**scope.names, divisor: type, result: type})

    def branch(self, scope: Scope, depth: int) -> Scope:
        heads = ["if", *["elif"] * self.choices.below(2), *["else"] * self.choices.below(2)]
        for head in heads:
            self.write("else:" if head == "else" else f"{head} {self.test(scope)}:")
            with self.indented():
                self.statements(scope, 1 + self.choices.below(3), depth)
        return scope

    def test(self, scope: Scope) -> str:
        if scope.indices and self.choices.chance(30):
            at, dim = self.choices.pick(list(scope.indices.items()))
            return f"{at} {self.choices.pick(('<', '>', '==', '>='))} {self.choices.pick((f'{dim} // 2', 'k', '3', '0'))}"
        return self.expression(scope, "bool_", 1 + self.choices.below(2))

    def counted(self, scope: Scope, depth: int) -> Scope:
        """A sequential loop; its index lies in a dimension or is a small number."""
        index = self.name("e")
        bounds, inside = f"{self.expression(scope, 'i64', 1)} & 7", None
        if scope.indices and self.choices.chance(75):
            at, dim = self.choices.pick(list(scope.indices.items()))
            bounds, inside = self.choices.pick((
                (dim, dim), (at, dim), (f"{at}, {dim}", dim), (f"{dim} - 1, {at}, -1", dim), (f"0, {dim}, 3", dim),
                (f"{dim} - 1, -1, -2", dim), (f"{at}, {at} + 3", None), (f"{at} + 1, {at} - 4, -2", None),
                (f"max({at} - 2, 0), min({at} + 3, {dim})", dim), (f"{at} % 3, 5, 2", None), ("0, 4", None),
            ))  # fmt: skip
        self.write(f"for {index} in range({bounds}):")
        indices = scope.indices if inside is None else {**scope.indices, index: inside}
        self.loops += 1
        with self.indented():
            inner = replace(scope, names={**scope.names, index: "i64"}, indices=indices, loop="for")
            self.statements(inner, 1 + self.choices.below(3), depth)
        self.loops -= 1
        return scope

    def repeated(self, scope: Scope, depth: int) -> Scope:
        """A `while` that ends by a counter at the latest."""
        counter = self.name("r")
        self.write(f"{counter} = 0")
        extra = f" and {self.test(scope)}" if self.choices.chance(70) else ""
        self.write(f"while {counter} < {1 + self.choices.below(6)}{extra}:")
        self.loops += 1
        with self.indented():
            self.write(f"{counter} += 1")
            self.statements(replace(scope, names={**scope.names, counter: "i64"}, loop="for"), 1 + self.choices.below(3), depth)
        self.loops -= 1
        return scope

    def leave(self, scope: Scope, depth: int = 0) -> Scope:
        word = "continue" if scope.loop == "grid" or self.choices.chance(50) else "break"
        self.write(f"if {self.test(scope)}:")
        with self.indented():
            if self.choices.chance(40):
                self.change(scope)
            self.write(word)
        return scope

    def store(self, scope: Scope, depth: int = 0) -> Scope:
        place, type = self.choices.pick(self.written)
        op = "=" if type == "bool_" else self.choices.pick(("=", "=", "=", "+=", "*="))
        self.write(f"{place} {op} {self.expression(scope, type)}")
        return scope

    def row(self, scope: Scope, depth: int = 0) -> Scope:
        """A view of a row, of an index that vectors need not lie along."""
        if self.dimensions == 1:
            return self.assign(scope)
        type, (at, dim) = self.choices.pick(COMMON), next(iter(scope.indices.items()))
        other = self.choices.pick(list(dict.fromkeys(scope.indices.values())))
        name = self.name("v")
        array = self.parameter(f"Ref[{type}, {dim}, {other}]")
        self.write(f"{name} = {array}[{at}]")
        return replace(scope, rows={**scope.rows, name: (type, other)})

    def contributions(self, scope: Scope) -> None:
        for name, (op, type) in scope.reductions.items():
            value = self.expression(scope, type)
            guard = self.choices.chance(30)
            if guard:
                self.write(f"if {self.test(scope)}:")
            with self.indented() if guard else _nothing():
                if op == "best":
                    word = "min" if int(name[1:]) % 2 else "max"
                    self.write(f"{name} = {word}({name}, ({value}, i0))")
                elif op in ("min", "max"):
                    self.write(f"{name} = {op}({name}, {value})")
                else:
                    self.write(f"{name} {op} {value}")


@contextmanager
def _nothing() -> Iterator[None]:
    yield
