"""Generates whole kernels as source text: loops, branches, functions, reductions, records, temporaries, sub-views.

Does: keep to what lend accepts: names assigned on every path, no races, loops that end.  Does not: run anything.
Invariants: a parallel loop touches each array that it writes at one place per iteration only; every `while` has a counter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from choices import Choices
from expression_source import Expressions, Node

TYPES = ("i64", "f64", "i32", "f32", "u8", "u32", "bool_")
NUMBERS = ("f64", "i64", "i32", "f32", "u32")
FIELDS = {"x": "f64", "n": "i32", "ok": "bool_"}
HEADER = """\
import math
from typing import Literal
import numpy as np
import lend
from lend import Mut, Ref, bool_, f32, f64, i32, i64, u8, u32
from lend.dims import M, N

@lend.struct
class P:
    x: f64
    n: i32
    ok: bool_

@lend.function
def put(array, at, value):
    array[at] = value
    return array[at]

@lend.kernel(math="strict")
def scaled(a: Mut[f64, M], by: f64) -> tuple[f64, f64]:
    total = by
    largest = -math.inf
    for i in lend.grid(M):
        a[i] *= by
        total += a[i]
        largest = max(largest, a[i])
    return total, largest

"""
PARAMETERS = (
    "x: Ref[f64, N], q: Ref[i64, N], h: Ref[f32, N], m: Ref[i32, N, Literal[3]], g: Ref[u8, N], y: Mut[f64, N], w: Mut[i64, N], "
    "v: Mut[f32, N, Literal[3]], b: Mut[bool_, N], p: Mut[P, N], k: i64, t: f64, c: i32"
)
READ = {"x": "f64", "q": "i64", "h": "f32", "m": "i32", "g": "u8"}
WRITTEN = {"y": "f64", "w": "i64", "v": "f32", "b": "bool_"}
OPERATORS = ("+=", "*=", "min", "max", "&=", "|=", "^=", "best")


@dataclass(frozen=True)
class Scope:
    """What a statement sees. `own`: the place of this iteration in the arrays that the loop writes."""

    level: str  # host, grid, function
    names: dict[str, str]
    indices: tuple[str, ...] = ()
    own: dict[str, str] = field(default_factory=dict)
    reductions: dict[str, tuple[str, str]] = field(default_factory=dict)
    locals: dict[str, str] = field(default_factory=dict)
    records: tuple[str, ...] = ()
    views: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> element type, "3" or "len"
    rows: bool = False  # a loop over (N, 3)
    fixed: frozenset[str] = frozenset()  # names of the host level, which a parallel loop cannot assign
    loop: str = ""  # the loop that break and continue are for: "", "for", "grid"


class Kernels:
    """One program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.depth = 0
        self.fresh = 0
        self.budget = 34
        self.wrong = choices.pick((0, 0, 0, 2, 8))  # how many of a hundred subscripts may leave their array
        self.functions: list[tuple[str, str]] = []  # name, result type
        self.temporaries: list[str] = []
        self.results: list[str] = []

    # ---------------------------------------------------------------------------------------------------------- writing

    def program(self) -> str:
        """The whole source text."""
        for _ in range(self.choices.below(3)):
            self.function()
        math = self.choices.often(((88, "strict"), (6, "default"), (6, "fast")))
        self.lines.append(f'@lend.kernel(math="{math}")')
        self.lines.append(f"def kernel({PARAMETERS}):")
        self.results = [self.choices.pick(TYPES) for _ in range(self.choices.below(4))]
        scope = Scope("host", {"k": "i64", "t": "f64", "c": "i32"})
        with self.indented():
            if self.choices.chance(40):
                for _ in range(2):
                    name = self.name("tmp")
                    self.write(f"{name} = lend.zeros(f64, N)")
                    self.temporaries.append(name)
            scope = self.statements(scope, 2 + self.choices.below(3), 3)
            scope = self.grid(scope, 3)
            scope = self.statements(scope, self.choices.below(3), 2)
            self.returns(scope, last=True)
        return HEADER + "\n".join(self.lines) + "\n"

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

    # ------------------------------------------------------------------------------------------------------- expressions

    def expression(self, scope: Scope, type: str, depth: int | None = None) -> str:
        """The text of an expression of a type."""
        depth = self.choices.often(((3, 1), (5, 2), (2, 3))) if depth is None else depth
        return self.chooser(scope).of(type, depth).text

    def chooser(self, scope: Scope) -> Expressions:
        return Expressions(self.choices, lambda type: self.leaf(scope, type), TYPES, faults=self.wrong)

    def weak(self, scope: Scope, type: str) -> str:
        return self.chooser(scope).weak(type, self.choices.below(3)).text

    def test(self, scope: Scope) -> str:
        return self.expression(scope, "bool_", 1 + self.choices.below(2))

    def leaf(self, scope: Scope, type: str) -> Node | None:
        """A name, or a load."""
        options = [name for name, kind in scope.names.items() if kind == type] * 2
        if type == "i64":
            options += [*scope.indices, *(f"len({name})" for name, (_, size) in scope.views.items() if size == "len")]
        if scope.level == "grid":
            options += [f"{name}[{self.place(scope, name)}]" for name, kind in READ.items() if kind == type]
            options += [self.own(scope, name) for name, kind in WRITTEN.items() if kind == type and name in scope.own]
            options += [f"{name}[{scope.own[name]}]" for name in self.temporaries if name in scope.own and type == "f64"]
            if "p" in scope.own:
                options += [f"p[{scope.own['p']}].{name}" for name, kind in FIELDS.items() if kind == type]
            options += [f"{name}[{self.within(scope, '4')}]" for name, kind in scope.locals.items() if kind == type]
            for name, (kind, size) in scope.views.items():
                if kind == type:
                    at = self.within(scope, "3") if size == "3" else "0"
                    options.append(f"{name}[{at}]" if size == "3" else f"({name}[0] if len({name}) > 0 else {type}(1))")
            options += [f"{name}.{part}" for name in scope.records for part, kind in FIELDS.items() if kind == type]
            if self.budget > 0:
                for name, result in self.functions:
                    if result == type:
                        self.budget -= 1
                        inner = replace(scope, views={}, records=())
                        a, n = self.chooser_without_calls(inner, "f64"), self.chooser_without_calls(inner, "i64")
                        options.append(self.choices.pick((f"{name}({a}, {n}, x)", f"{name}(n={n}, a={a}, array=x)")))
        if scope.level == "function" and type == "f64":
            options.append("array[n % len(array)]" if self.choices.chance(50) else "a")
        if scope.level == "host" and type in ("f64", "i64") and self.choices.chance(5):
            options.append({"f64": "y", "i64": "q"}[type] + f"[{self.choices.pick(('0', 'k % N', 'N - 1'))}]")
        return Node(self.choices.pick(options), type) if options else None

    def chooser_without_calls(self, scope: Scope, type: str) -> str:
        functions, self.functions = self.functions, []
        text = self.expression(scope, type, 1)
        self.functions = functions
        return text

    def within(self, scope: Scope, size: str) -> str:
        """A subscript of a dimension, mostly inside it."""
        simple = [name for name, kind in scope.names.items() if kind in ("i64", "i32", "u8")] + list(scope.indices)
        number = self.choices.pick(simple) if simple else "1"
        scalar = self.choices.pick(("n",) if scope.level == "function" else ("k", "c"))  # what no proof can refuse
        if self.choices.chance(self.wrong):
            return self.choices.pick((scalar, f"{scalar} + 1", f"{scalar} - 1", f"{size} - {scalar}"))
        if size.isdigit() and self.choices.chance(50):
            return str(self.choices.below(int(size)))
        return f"({number}) % {size}"

    def place(self, scope: Scope, array: str) -> str:
        """The subscript of an array that the loop only reads."""
        first = scope.indices[0]
        if self.choices.chance(self.wrong):
            at = self.choices.pick((f"{first} + k", f"{first} - k", f"q[{first}]", "k", f"{first} * (c + 1)", f"{first} + c"))
        else:
            at = self.choices.pick((first, first, f"N - 1 - {first}", self.within(replace(scope, level="x"), "N")))
        return f"{at}, {self.within(scope, '3')}" if array == "m" else at

    def own(self, scope: Scope, array: str) -> str:
        """This iteration's element of an array that the loop writes."""
        at = scope.own[array]
        if array == "v":
            return f"v[{at}, {scope.indices[1] if scope.rows else self.within(scope, '3')}]"
        return f"{array}[{at}]"

    # -------------------------------------------------------------------------------------------------------- statements

    def statements(self, scope: Scope, count: int, depth: int) -> Scope:
        """Some statements; the scope after them. Writes at least one."""
        start = len(self.lines)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            options: list[tuple[int, Callable[[Scope, int], Scope]]] = [(20, self.assign), (12, self.change), (5, self.swap)]
            if depth > 0:
                options += [(16, self.branch), (8, self.counted), (6, self.repeated)]
                if scope.level == "host":
                    options += [(22, self.grid), (2, self.early_return)]
                if scope.level == "function":
                    options += [(14, self.early_return)]
            if scope.level == "grid":
                options += [(26, self.store)]
                options += [(24, self.reduce)] if scope.reductions else []
                options += [(5, self.new_local), (4, self.new_record), (4, self.new_view)] if not scope.rows else []
            if scope.level == "host" and self.temporaries:
                options += [(5, self.swap_temporaries), (5, self.call_kernel)]
            if scope.loop:
                options += [(6, self.leave)]
            scope = self.choices.often(options)(scope, depth - 1)
        if len(self.lines) == start:
            self.write("pass")
        return scope

    def assign(self, scope: Scope, depth: int) -> Scope:
        type, name = self.choices.pick(TYPES), self.name("a")
        annotation = f": {type}" if self.choices.chance(15) else ""
        self.write(f"{name}{annotation} = {self.expression(scope, type)}")
        return replace(scope, names={**scope.names, name: type})

    def variable(self, scope: Scope, types: tuple[str, ...] = TYPES) -> str | None:
        names = [
            n for n, kind in scope.names.items() if kind in types and n[0] == "a" and n[1:].isdigit() and n not in scope.fixed
        ]
        return self.choices.pick(names) if names else None

    def change(self, scope: Scope, depth: int) -> Scope:
        name = self.variable(scope)
        if name is None:
            return self.assign(scope, depth)
        type = scope.names[name]
        if type == "bool_" or self.choices.chance(40):
            self.write(f"{name} = {self.expression(scope, type)}")
        else:
            op = self.choices.pick(("+=", "-=", "*=") if type[0] == "f" else ("+=", "-=", "*=", "^=", "|=", "&="))
            self.write(f"{name} {op} {self.weak(scope, type)}")
        return scope

    def swap(self, scope: Scope, depth: int) -> Scope:
        a = self.variable(scope)
        if a is None:
            return self.assign(scope, depth)
        b = self.variable(scope, (scope.names[a],))
        assert b is not None
        if a == b:
            type, name = self.choices.pick(TYPES), self.name("a")
            self.write(f"{a}, {name} = {self.expression(scope, scope.names[a])}, {self.expression(scope, type)}")
            return replace(scope, names={**scope.names, name: type})
        right = f"{b}, {a}" if self.choices.chance(60) else f"{b}, {self.expression(scope, scope.names[a])}"
        self.write(f"{a}, {b} = {right}")
        return scope

    def branch(self, scope: Scope, depth: int) -> Scope:
        """if, elif, else; what every path assigns stays."""
        outer = scope.names
        ends: list[dict[str, str]] = []
        heads = ["if", *["elif"] * self.choices.below(2), *["else"] * self.choices.below(2)]
        common = self.name("a") if heads[-1] == "else" and self.choices.chance(60) else None
        kind = self.choices.pick(TYPES)
        for head in heads:
            self.write("else:" if head == "else" else f"{head} {self.test(scope)}:")
            with self.indented():
                end = self.statements(scope, 1 + self.choices.below(3), depth)
                ended = self.lines[-1].strip() in ("break", "continue") or self.lines[-1].strip().startswith("return")
                if common is not None and not ended:
                    self.write(f"{common} = {self.expression(end, kind)}")
                    end = replace(end, names={**end.names, common: kind})
                ends.append(end.names)
        if heads[-1] == "else":
            outer = {n: t for n, t in ends[0].items() if all(e.get(n) == t for e in ends)}
        return replace(scope, names=outer)

    def counted(self, scope: Scope, depth: int) -> Scope:
        """A sequential loop."""
        index = self.name("e")
        small = self.choices.pick(
            ("n" if scope.level == "function" else "k", *scope.indices, *(n for n, kind in scope.names.items() if kind == "i64"))
        )
        bounds = self.choices.pick(("3", "1, 4", "5, 0, -2", f"{small} % 4", "2, -2, -1", f"{small} % 3, 5, 2", "0"))
        if self.choices.chance(self.wrong):
            bounds = f"0, 4, {small} % 3"
        head = (
            f"lend.static_range({self.choices.pick(('2', '1, 4', '3, 0, -1'))})"
            if self.choices.chance(10)
            else f"range({bounds})"
        )
        loop = "" if head[0] == "l" else "for"
        self.write(f"for {index} in {head}:")
        with self.indented():
            self.statements(replace(scope, indices=(*scope.indices, index), loop=loop), 1 + self.choices.below(3), depth)
        return scope

    def repeated(self, scope: Scope, depth: int) -> Scope:
        """A `while` with a counter."""
        counter = self.name("r")
        self.write(f"{counter} = 0")
        extra = f" and {self.test(scope)}" if self.choices.chance(50) else ""
        self.write(f"while {counter} < {1 + self.choices.below(5)}{extra}:")
        with self.indented():
            self.write(f"{counter} += 1")
            self.statements(replace(scope, names={**scope.names, counter: "i64"}, loop="for"), 1 + self.choices.below(3), depth)
        return scope

    def leave(self, scope: Scope, depth: int) -> Scope:
        word = "continue" if scope.loop == "grid" or self.choices.chance(50) else "break"
        self.write(f"if {self.test(scope)}:")
        with self.indented():
            if self.choices.chance(30):
                self.change(scope, 0)
            self.write(word)
        return scope

    # -------------------------------------------------------------------------------------------------------- host level

    def grid(self, scope: Scope, depth: int) -> Scope:
        """A parallel loop, with its reductions."""
        rows = self.choices.chance(25)
        reductions: dict[str, tuple[str, str]] = {}
        for _ in range(self.choices.below(3)):
            op, name = self.choices.pick(OPERATORS), self.name("s")
            type = self.choices.pick(("i64", "u8", "i32", "bool_") if op in ("&=", "|=", "^=") else NUMBERS)
            if op == "best":
                self.write(f"{name} = ({type}({self.expression(scope, type, 0)}), i64(-1))")
            else:
                self.write(f"{name} = {self.expression(scope, type, 1)}")
            reductions[name] = (op, type)
        i, j = self.name("at"), self.name("col")
        extent = self.choices.pick(("N", "N", "(1, N)", "(0, N, 2)", "(0, N - 1)", "(N // 3, N)"))
        if self.choices.chance(2 * self.wrong):
            extent = self.choices.pick(("N + c", "(k, N)", "N + k"))
        if rows:
            self.write(f"for {i}, {j} in lend.grid({extent}, {self.choices.pick(('3', '(0, 3, 2)', '(1, 3)'))}):")
        else:
            self.write(f"for {i} in lend.grid({extent}):")
        mirrored = extent == "N"
        own = {a: f"N - 1 - {i}" if mirrored and self.choices.chance(20) else i for a in (*WRITTEN, "p", *self.temporaries)}
        if rows:
            own = {"v": own["v"]}
        inner = Scope(
            "grid",
            dict(scope.names),
            (i, j) if rows else (i,),
            own,
            reductions,
            rows=rows,
            loop="grid",
            fixed=frozenset(scope.names),
        )
        with self.indented():
            end = self.statements(inner, 1 + self.choices.below(4), depth)
            if rows:
                self.store(end, 0)
        names = dict(scope.names)
        for name, (op, type) in reductions.items():
            if op == "best":
                value, where = self.name("a"), self.name("a")
                self.write(f"{value}, {where} = {name}")
                names |= {value: type, where: "i64"}
            else:
                names[name] = type
        return replace(scope, names=names)

    def swap_temporaries(self, scope: Scope, depth: int) -> Scope:
        a, b = self.temporaries[:2]
        self.write(f"{a}, {b} = {b}, {a}")
        return scope

    def call_kernel(self, scope: Scope, depth: int) -> Scope:
        """Another kernel, which changes a temporary or a part of it."""
        total, largest = self.name("a"), self.name("a")
        part = self.choices.pick(("", "[1:]", "[: N // 2]", "[::2]", ".reshape(N)"))
        self.write(f"{total}, {largest} = scaled({self.choices.pick(self.temporaries)}{part}, {self.expression(scope, 'f64')})")
        return replace(scope, names={**scope.names, total: "f64", largest: "f64"})

    def early_return(self, scope: Scope, depth: int) -> Scope:
        self.write(f"if {self.test(scope)}:")
        with self.indented():
            self.returns(scope)
        return scope

    def returns(self, scope: Scope, last: bool = False) -> None:
        if self.results:
            self.write(f"return {', '.join(self.expression(scope, type, 1) for type in self.results)}")
        elif not last:
            self.write("return")

    # --------------------------------------------------------------------------------------------------------- functions

    def function(self) -> None:
        """A device function of a float, an integer and an array."""
        name, type = self.name("fun"), self.choices.pick(NUMBERS)
        self.lines.append("@lend.function")
        self.lines.append(f"def {name}(a, n, array):")
        self.results, wrong = [type], self.wrong
        with self.indented():
            scope = self.statements(Scope("function", {"a": "f64", "n": "i64"}), 1 + self.choices.below(3), 2)
            self.returns(scope)
        self.wrong = wrong
        self.lines.append("")
        self.functions.append((name, type))
        self.budget = 34

    # -------------------------------------------------------------------------------------------------------- grid level

    def store(self, scope: Scope, depth: int) -> Scope:
        """A write to this iteration's element, or to a private array."""
        targets = [name for name in scope.own if name in WRITTEN or name in self.temporaries]
        kind = self.choices.often(((70, "array"), (15, "field"), (15, "local")))
        if kind == "field" and "p" in scope.own:
            name = self.choices.pick(tuple(FIELDS))
            self.write(f"p[{scope.own['p']}].{name} = {self.expression(scope, FIELDS[name])}")
            return scope
        if kind == "local" and scope.locals:
            name = self.choices.pick(tuple(scope.locals))
            self.write(f"{name}[{self.within(scope, '4')}] = {self.expression(scope, scope.locals[name])}")
            return scope
        array = self.choices.pick(targets)
        type = WRITTEN.get(array, "f64")
        if array != "v" and self.choices.chance(10):
            name = self.name("a")
            self.write(f"{name} = put({array}, {scope.own[array]}, {self.expression(scope, type)})")
            return replace(scope, names={**scope.names, name: type})
        op = "=" if type == "bool_" or self.choices.chance(70) else self.choices.pick(("+=", "-=", "*="))
        value = self.expression(scope, type) if op == "=" else self.weak(scope, type)
        self.write(f"{self.own(scope, array)} {op} {value}")
        return scope

    def reduce(self, scope: Scope, depth: int) -> Scope:
        """One contribution to a reduction."""
        name = self.choices.pick(tuple(scope.reductions))
        op, type = scope.reductions[name]
        value = self.expression(scope, type)
        if op == "best":
            word = "min" if int(name[1:]) % 2 else "max"
            item = f"({value}, {scope.indices[0]})"
            self.write(f"{name} = {word}({name}, {item})" if self.choices.chance(60) else f"{name} = {word}({item}, {name})")
        elif op in ("min", "max"):
            self.write(f"{name} = {op}({name}, {value})" if self.choices.chance(60) else f"{name} = {op}({value}, {name})")
        else:
            self.write(f"{name} {op} {value}")
        return scope

    def new_local(self, scope: Scope, depth: int) -> Scope:
        name, type = self.name("l"), self.choices.pick(TYPES)
        self.write(f"{name} = lend.local({type}, 4)")
        self.write("for e in range(4):")
        self.write(f"    {name}[e] = {self.expression(scope, type, 1)}")
        return replace(scope, locals={**scope.locals, name: type})

    def new_record(self, scope: Scope, depth: int) -> Scope:
        name = self.name("z")
        values = ", ".join(self.expression(scope, kind, 1) for kind in FIELDS.values())
        self.write(f"{name} = P({values})" if self.choices.chance(60) else f"{name} = p[{scope.own['p']}]")
        if self.choices.chance(40):
            self.write(f"p[{scope.own['p']}] = {name}")
        return replace(scope, records=(*scope.records, name))

    def new_view(self, scope: Scope, depth: int) -> Scope:
        name, i = self.name("d"), scope.indices[0]
        kind = self.choices.pick(("v", "m", "x"))
        match kind:
            case "v":
                self.write(f"{name} = v[{scope.own['v']}, :]")
                if self.choices.chance(50):
                    self.write(f"{name}[{self.within(scope, '3')}] = {self.expression(scope, 'f32')}")
                size, type = "3", "f32"
            case "m":
                self.write(f"{name} = m[{i}, :]")
                size, type = "3", "i32"
            case _:
                self.write(f"{name} = x[{self.choices.pick((f'{i}:', f':{i}', f'{i}:N:2', f'{i} // 2:{i}'))}]")
                size, type = "len", "f64"
        return replace(scope, views={**scope.views, name: (type, size)})
