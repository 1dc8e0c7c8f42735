"""Python functions on their way from the typed tree to Python's syntax tree: statements over values, without names yet.

Does: define the statements; find which values are alive where; give each value a Python variable.  Does not: build the statements
(`plain_body.py`) or make Python's syntax tree of them (`plain_syntax.py`).
Invariants: an expression is a Python `ast.expr` in which `slots` says which `Name` nodes stand for which value. Two values that
share a variable are never alive at once, unless one is a copy of the other; a variable has the user's name where it can.

Example: in `acc = acc + x` the old and the new `acc` are two values and one variable; in `a, b = b, a + b` the new `b` is
computed while the old one is still needed, and becomes `b_1` until it is copied.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lend.diagnostics.spans import Span
from lend.ir.typed import Value


@dataclass
class Assign:
    """`target = value`, or with several targets the unpacking of a tuple."""

    span: Span
    targets: list[Value]
    value: ast.expr


@dataclass
class Copy:
    """`targets = sources`, all at once; it has no line of its own."""

    targets: list[Value]
    sources: list[ast.expr]


@dataclass
class Evaluate:
    """An expression for its effect. Without a span it has no line of its own."""

    span: Span | None
    value: ast.expr


@dataclass
class Branch:
    """`if test: then` with `else: orelse`."""

    span: Span
    test: ast.expr
    then: list[Statement]
    orelse: list[Statement]


@dataclass
class Loop:
    """`for targets in iterator: body`."""

    span: Span
    targets: list[Value]
    iterator: ast.expr
    body: list[Statement]


@dataclass
class Repeat:
    """`while test: body`; without a test only `Leave` ends it."""

    span: Span
    test: ast.expr | None
    body: list[Statement]


@dataclass
class Leave:
    """`break` where the test holds; it has no line of its own."""

    test: ast.expr


@dataclass
class Give:
    """`return values`. A kernel gives a tuple always (`whole`)."""

    span: Span | None
    values: list[ast.expr]
    whole: bool


@dataclass
class Stop:
    """`pass`: a place for a breakpoint on a line that computes nothing."""

    span: Span


@dataclass
class Show:
    """An assignment for the debugger only, left out where the variable called `name` holds something else."""

    assign: Assign
    name: str

    @property
    def span(self) -> Span:
        """Its place."""
        return self.assign.span


Statement = Assign | Copy | Evaluate | Branch | Loop | Repeat | Leave | Give | Stop | Show


@dataclass
class Function:
    """A Python function: its parameters' values, its statements, and after `name_variables` each value's variable."""

    name: str
    internal: str  # its name in the generated module
    filename: str
    span: Span  # of its first line
    parameters: list[Value]
    slots: dict[ast.Name, Value]
    loop: Span | None = None  # where it is the body of a `lend.threads` loop
    statements: list[Statement] = field(default_factory=list[Statement])
    names: dict[Value, str] = field(default_factory=dict[Value, str])


def child_blocks(statement: Statement) -> Iterator[list[Statement]]:
    """The blocks inside a statement."""
    if isinstance(statement, Branch):
        yield statement.then
        yield statement.orelse
    elif isinstance(statement, Loop | Repeat):
        yield statement.body


def expressions_of(statement: Statement) -> Iterator[ast.expr]:
    """All expressions of a statement, those inside others too, but not those of the blocks inside it."""
    match statement:
        case Assign() | Evaluate():
            whole = [statement.value]
        case Copy():
            whole = statement.sources
        case Branch() | Leave():
            whole = [statement.test]
        case Loop():
            whole = [statement.iterator]
        case Repeat():
            whole = [] if statement.test is None else [statement.test]
        case Give():
            whole = statement.values
        case Stop() | Show():
            whole = []
    for expression in whole:
        yield from (node for node in ast.walk(expression) if isinstance(node, ast.expr))


# ------------------------------------------------------------------------------------------------------- liveness


class Liveness:
    """Which values may not share a variable: of those with one wished-for name, which are alive at another's definition."""

    def __init__(self, function: Function, wishes: dict[Value, str]) -> None:
        self.slots = function.slots
        self.wishes = wishes
        self.conflicts: dict[Value, set[Value]] = {}
        self.defined: dict[Value, None] = {}
        self.define(function.parameters, self.block(function.statements, set(), set()))

    def uses(self, expression: ast.expr | None) -> set[Value]:
        """The values an expression reads."""
        if expression is None:
            return set()
        return {self.slots[node] for node in ast.walk(expression) if isinstance(node, ast.Name) and node in self.slots}

    def define(self, targets: Sequence[Value], after: set[Value], sources: Sequence[ast.expr] = ()) -> None:
        """All `targets` are set at once where `after` is alive afterwards."""
        alive = after | set(targets)
        for position, target in enumerate(targets):
            self.defined.setdefault(target)
            wish = self.wishes.get(target)
            if wish is None:
                continue
            source = sources[position] if sources else None
            copied = self.slots.get(source) if isinstance(source, ast.Name) else None
            for other in alive:
                if other is not target and other is not copied and self.wishes.get(other) == wish:
                    self.conflicts.setdefault(target, set()).add(other)
                    self.conflicts.setdefault(other, set()).add(target)

    def block(self, statements: list[Statement], after: set[Value], leave: set[Value]) -> set[Value]:
        """What is alive before a block, given what is alive after it and where `Leave` goes."""
        for statement in reversed(statements):
            after = self.statement(statement, after, leave)
        return after

    def statement(self, statement: Statement, after: set[Value], leave: set[Value]) -> set[Value]:
        match statement:
            case Assign():
                sources = [statement.value] if len(statement.targets) == 1 else []
                self.define(statement.targets, after, sources)
                return (after - set(statement.targets)) | self.uses(statement.value)
            case Copy():
                self.define(statement.targets, after, statement.sources)
                return (after - set(statement.targets)).union(*map(self.uses, statement.sources))
            case Evaluate():
                return after | self.uses(statement.value)
            case Branch():
                arms = self.block(statement.then, after, leave) | self.block(statement.orelse, after, leave)
                return arms | self.uses(statement.test)
            case Loop() | Repeat():
                return self.loop(statement, after)
            case Leave():
                return after | leave | self.uses(statement.test)
            case Give():
                return set[Value]().union(*map(self.uses, statement.values))
            case Stop():
                return after
            case Show():
                self.define(statement.assign.targets, after)
                return after - set(statement.assign.targets)

    def loop(self, statement: Loop | Repeat, after: set[Value]) -> set[Value]:
        """A loop's head is reached from before and from its body's end, until nothing new is alive there."""
        leaves = isinstance(statement, Loop) or statement.test is not None
        targets = statement.targets if isinstance(statement, Loop) else []
        test = self.uses(statement.test) if isinstance(statement, Repeat) else set[Value]()
        head = (set(after) if leaves else set[Value]()) | test
        while True:
            body = self.block(statement.body, head, after)
            self.define(targets, body)
            grown = head | (body - set(targets))
            if grown == head:
                break
            head = grown
        return head | self.uses(statement.iterator) if isinstance(statement, Loop) else head


# ---------------------------------------------------------------------------------------------------------- names


def python_name(name: str) -> str:
    """A user's name (`x`, `xs[0]`, `p.field`) as a Python identifier."""
    letters = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in name)
    joined = "_".join(letters.split()) or "value"
    if joined[0].isdigit():
        joined = f"v{joined}"
    return f"{joined}_" if keyword.iskeyword(joined) else joined


def name_variables(function: Function, wishes: dict[Value, str]) -> None:
    """Give each value of `function` a variable: values of one wished-for name share it where they may."""
    liveness = Liveness(function, wishes)
    reserved = {wishes[value] for value in liveness.defined if value in wishes}
    members: dict[str, list[Value]] = {}
    unnamed = 0
    order = [*function.parameters, *(value for value in _definitions(function.statements) if value in liveness.defined)]
    for value in order:
        if value in function.names:
            continue
        wish = wishes.get(value)
        if wish is None:
            unnamed += 1
            while f"_{unnamed}" in reserved:
                unnamed += 1
            function.names[value] = f"_{unnamed}"
            continue
        conflicts = liveness.conflicts.get(value, set())
        suffix, candidate = 0, wish
        while (suffix and candidate in reserved) or any(other in conflicts for other in members.get(candidate, ())):
            suffix += 1
            candidate = f"{wish}_{suffix}"
        members.setdefault(candidate, []).append(value)
        function.names[value] = candidate


def _definitions(statements: list[Statement]) -> Iterator[Value]:
    for statement in statements:
        if isinstance(statement, Assign | Copy | Loop):
            yield from statement.targets
        elif isinstance(statement, Show):
            yield from statement.assign.targets
        for block in child_blocks(statement):
            yield from _definitions(block)
