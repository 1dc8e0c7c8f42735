"""Regions of the typed tree as Python statements.

Does: decide what becomes an expression inside another and what a statement; turn carried values into assignments, device
functions into Python functions.  Does not: choose variables (`plain_statements.py`).
Invariants: whatever reads memory, writes it or can fail happens in the order of the tree, which is Python's order of evaluation;
a value with a name of the user's is assigned where it is computed, one without a name is part of the expression that uses it, if
there is only one and the order allows it, else `_1`, `_2`, ….

Example: `y[i] += a * x[i]` is five operations and one statement.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from lend.diagnostics.errors import InternalError
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Operation, Region, Value
from lend.language.reduction import Accumulator
from lend.language.types import BOOL_, ScalarType
from lend.lower import plain_teams
from lend.lower.plain_expressions import Expressions, call, literal, may_fail, ordered_operands, range_of, tuple_of
from lend.lower.plain_run import reduced
from lend.lower.plain_statements import (
    Assign,
    Branch,
    Copy,
    Evaluate,
    Function,
    Give,
    Leave,
    Loop,
    Repeat,
    Statement,
    python_name,
)

T = TypeVar("T")

MAX_DEPTH = 40  # of expressions inside expressions


@dataclass
class Uses:
    """How often each value is used, and in which region (of several uses, the last)."""

    count: dict[Value, int] = field(default_factory=dict[Value, int])
    region: dict[Value, Region] = field(default_factory=dict[Value, Region])

    def add(self, region: Region, values: Sequence[Value]) -> None:
        for value in values:
            self.count[value] = self.count.get(value, 0) + 1
            self.region[value] = region


class Module:
    """All functions of one kernel in Python, and what is known of the tree as a whole."""

    def __init__(self, kernel: typed.Kernel) -> None:
        self.expressions = Expressions(kernel)
        self.expressions.helpers["lend.reduced"] = reduced
        self.functions: list[Function] = []
        self.slots: dict[ast.Name, Value] = {}
        self.spans: dict[ast.expr, Span] = {}
        self.uses = Uses()
        self.literals: dict[Value, typed.Constant] = {}
        self.alias: dict[Value, Value] = {}
        self.wishes: dict[Value, str] = {}
        self.called: dict[typed.Call, tuple[Function, list[Value]]] = {}
        self.owners: list[Function] = []  # the functions that are being written, the innermost last
        for value in (*kernel.dims, *(parameter.value for parameter in kernel.parameters)):
            self.wish(value)
        for parameter in kernel.parameters:
            self.wish(parameter.value, parameter.name)
        self.survey(kernel.body)
        self.spread_wishes(kernel.body)

    # ------------------------------------------------------------------------------------------------- survey

    def survey(self, region: Region) -> None:
        """Count uses, find literals, wishes for names, and values that are one variable whatever they are called."""
        for parameter in region.parameters:
            self.wish(parameter)
        for operation in region.operations:
            self.uses.add(region, operation.operands)
            if isinstance(operation, typed.Constant) and user_name(operation.result) is None:
                self.literals[operation.result] = operation
            if isinstance(operation, typed.For | typed.While):
                carried = operation.body.parameters[isinstance(operation, typed.For) :]
                for parameter, result in zip(carried, operation.results, strict=True):
                    self.alias[result] = parameter
                if isinstance(operation, typed.While):
                    self.alias.update(zip(operation.condition.parameters, carried, strict=True))
            for inner in operation.regions:
                self.survey(inner)
            self.wish_results(operation)
        self.uses.add(region, region.yields)

    def wish_results(self, operation: Operation) -> None:
        """Names for what an operation defines; a conversion of `k` that the type checker calls `k` too is not the user's `k`."""
        converts = isinstance(operation, typed.Cast) and operation.operand.name == operation.result.name
        if not converts or assigns(operation.span, operation.results[0].name or ""):
            for result in operation.results:
                self.wish(result)

    def spread_wishes(self, region: Region) -> None:
        """What an iteration or an arm of an `if` statement gives to a variable has that variable's name if it has none."""
        for operation in region.operations:
            if isinstance(operation, typed.For | typed.While | typed.Parallel | typed.Blocks | typed.Threads):
                body = operation.body
                carried = body.parameters[len(body.parameters) - len(operation.results) :]
                self.wish_yields(body, carried, body.yields[len(body.yields) - len(carried) :])
            elif isinstance(operation, typed.If) and is_statement(operation.span):
                for arm in operation.regions:
                    self.wish_yields(arm, operation.results, arm.yields)
            for inner in operation.regions:
                self.spread_wishes(inner)

    def wish_yields(self, region: Region, targets: Sequence[Value], yields: Sequence[Value]) -> None:
        defined = {value for operation in region.operations for value in operation.results}
        for target, value in zip(targets, yields, strict=True):
            name = self.wishes.get(self.root(target))
            if name is not None and value in defined and value not in self.literals:
                self.wish(value, name)

    def named(self, value: Value) -> bool:
        """Whether the user sees this value under a name."""
        return self.root(value) in self.wishes

    def root(self, value: Value) -> Value:
        """The value that stands for all that share its variable."""
        while value in self.alias:
            value = self.alias[value]
        return value

    def wish(self, value: Value, name: str | None = None) -> None:
        """Note the user's name for a value."""
        name = name or user_name(value)
        if name is not None:
            self.wishes.setdefault(self.root(value), python_name(name))

    # ---------------------------------------------------------------------------------------------- functions

    def read(self, value: Value) -> ast.expr:
        """A value where it is used: its constant or its variable."""
        constant = self.literals.get(value)
        if constant is not None:
            return literal(constant.value)
        name = ast.Name("?", ast.Load())
        self.slots[name] = self.root(value)
        return name

    def function(self, name: str, filename: str, span: Span, parameters: Sequence[Value]) -> Function:
        """A new Python function."""
        internal = f"lend.{name}.{len(self.functions)}"
        roots = [self.root(parameter) for parameter in parameters]
        self.functions.append(Function(name, internal, filename, span, roots, self.slots))
        return self.functions[-1]

    def device_function(self, operation: typed.Call) -> tuple[Function, list[Value]]:
        """The Python function of a call, and the outer values it takes as further arguments."""
        known = self.called.get(operation)
        if known is None:
            captured = self.captured(operation.body)
            span = first_span(operation)
            function = self.function(operation.name, operation.filename, span, (*operation.body.parameters, *captured))
            self.owners.append(function)
            body = Body(self, operation.body)
            body.run()
            function.statements = body.give(operation.body.yields, whole=False)
            self.owners.pop()
            known = self.called[operation] = (function, captured)
        return known

    def captured(self, region: Region) -> list[Value]:
        """The outer values that a region of its own function takes as arguments: one for each variable."""
        values = [value for value in free_values(region) if value not in self.literals]
        return list({self.root(value): value for value in values}.values())


def user_name(value: Value) -> str | None:
    """The user's name for a value; names that the type checker made for itself begin with `#`."""
    return None if value.name is None or value.name.startswith("#") else value.name


def first_span(operation: typed.Call) -> Span:
    """A place in the called function's file: that of its parameters or, failing that, of its first operation there."""
    spans = [parameter.span for parameter in operation.body.parameters] + [inner.span for inner in operation.body.operations]
    return next((span for span in spans if span.source.filename == operation.filename), operation.span)


def free_values(region: Region) -> list[Value]:
    """The values used in a region and defined outside it, in order of use."""
    found: dict[Value, None] = {}
    defined: set[Value] = set()

    def visit(inner: Region) -> None:
        defined.update(inner.parameters)
        for operation in inner.operations:
            found.update(dict.fromkeys(value for value in operation.operands if value not in defined))
            for nested in operation.regions:
                visit(nested)
            defined.update(operation.results)
        found.update(dict.fromkeys(value for value in inner.yields if value not in defined))

    visit(region)
    return list(found)


class NotAnExpression(Exception):
    """A region needs statements."""


@dataclass
class Pending:
    """An expression that waits for the one operation that uses it."""

    expression: ast.expr
    ordered: bool  # it contains something that keeps its order
    depth: int


class Body:
    """One region on its way to statements. With `expression`, statements are not allowed."""

    def __init__(self, module: Module, region: Region, *, expression: bool = False) -> None:
        self.module = module
        self.region = region
        self.expression = expression
        self.statements: list[Statement] = []
        self.pending: dict[Value, Pending] = {}

    def run(self) -> Body:
        """Take in all operations of the region."""
        for operation in self.region.operations:
            self.operation(operation)
        return self

    def emit(self, statement: Statement) -> None:
        if self.expression:
            raise NotAnExpression
        self.statements.append(statement)

    # ------------------------------------------------------------------------------------- pending expressions

    def take(self, values: Sequence[Value], *, statement: bool = False) -> tuple[list[ast.expr], bool, int]:
        """The expressions of `values`, evaluated in this order; whether they keep their order; how deep they are.

        What waits and keeps its order must be just these values, last of all that wait; else it is computed now. Before a
        statement everything else that waits is computed.
        """
        mine = [v for v in values if v in self.pending and self.pending[v].ordered]
        waiting = [v for v, pending in self.pending.items() if pending.ordered]
        if mine and waiting[-len(mine) :] != mine:
            self.settle(waiting)
        if statement:
            self.settle([v for v in self.pending if v not in values])
        expressions: list[ast.expr] = []
        ordered, depth = False, 0
        for value in values:
            pending = self.pending.pop(value, None)
            if pending is None:
                expressions.append(self.module.read(value))
                continue
            expressions.append(pending.expression)
            ordered, depth = ordered or pending.ordered, max(depth, pending.depth)
        return expressions, ordered, depth

    def settle(self, values: Sequence[Value]) -> None:
        """Compute waiting expressions now, into variables."""
        for value in values:
            pending = self.pending.pop(value)
            self.emit(
                Assign(self.module.spans.get(pending.expression, value.span), [self.module.root(value)], pending.expression)
            )

    def produce(self, result: Value, expression: ast.expr, span: Span, ordered: bool, depth: int) -> None:
        """An operation's result: waits for its use, or is assigned."""
        self.module.spans.setdefault(expression, span)
        uses = self.module.uses
        named = self.module.named(result)
        if not named and uses.count.get(result, 0) == 0:
            if ordered:
                self.settle([v for v, pending in self.pending.items() if pending.ordered])
                self.emit(Evaluate(span, expression))
            return
        if not named and uses.count[result] == 1 and uses.region[result] is self.region and depth < MAX_DEPTH:
            self.pending[result] = Pending(expression, ordered, depth + 1)
            return
        self.settle([v for v, pending in self.pending.items() if pending.ordered])
        self.emit(Assign(span, [self.module.root(result)], expression))

    # --------------------------------------------------------------------------------------------- operations

    def operation(self, operation: Operation) -> None:
        match operation:
            case typed.Constant():
                if operation.result not in self.module.literals:
                    self.produce(operation.result, literal(operation.value), operation.span, False, 0)
            case typed.If():
                self.branch(operation)
            case typed.For():
                self.sequential(operation)
            case typed.While():
                self.repeat(operation)
            case typed.Parallel() | typed.Blocks():
                self.parallel(operation)
            case typed.Threads():
                if self.expression:
                    raise NotAnExpression
                plain_teams.threads(self, operation)
            case typed.Call():
                self.call(operation)
            case typed.Sync():
                self.take((), statement=True)
                self.emit(Evaluate(operation.span, plain_teams.meet(self.module, operation, [])))
            case typed.Subgroup():
                plain_teams.subgroup(self, operation)
            case typed.Within() | typed.WithinRest() | typed.Exceed():
                raise InternalError("a planned tree is no plain Python", operation.span)
            case typed.Store() | typed.Require():
                operands, _, _ = self.take(ordered_operands(operation), statement=True)
                self.emit(Evaluate(operation.span, self.module.expressions.simple(operation, operands)))
            case _:
                operands, ordered, depth = self.take(ordered_operands(operation))
                expression = self.module.expressions.simple(operation, operands)
                self.produce(operation.result, expression, operation.span, ordered or may_fail(operation), depth)

    def call(self, operation: typed.Call) -> None:
        """A call of a device function. Outer values that its body uses are passed after the arguments."""
        function, captured = self.module.device_function(operation)
        single = len(operation.results) == 1
        arguments, _, depth = self.take(operation.arguments, statement=not single)
        arguments += map(self.module.read, captured)
        expression: ast.expr = ast.Call(ast.Name(function.internal, ast.Load()), arguments, [])
        if plain_teams.has_barrier(operation.body):
            expression = ast.YieldFrom(expression)
        if single:
            self.produce(operation.results[0], expression, operation.span, True, depth)
        elif operation.results:
            self.emit(Assign(operation.span, list(map(self.module.root, operation.results)), expression))
        else:
            self.emit(Evaluate(operation.span, expression))

    # ------------------------------------------------------------------------------------------------ regions

    def inner(self, region: Region) -> Body:
        """A nested region, run."""
        return Body(self.module, region).run()

    def assign_yields(self, targets: Sequence[Value], yields: Sequence[Value]) -> list[Statement]:
        """The statements of this region, ending in `targets = yields`."""
        sources, _, _ = self.take(yields, statement=True)
        if targets:
            self.emit(Copy(list(map(self.module.root, targets)), sources))
        return self.statements

    def give(self, yields: Sequence[Value], *, whole: bool) -> list[Statement]:
        """The statements of this region, ending in `return yields`."""
        values, _, _ = self.take(yields, statement=True)
        if values or whole:
            spans = [span for span in map(self.module.spans.get, values) if span is not None]
            self.emit(Give(spans[0] if spans else None, values, whole))
        return self.statements

    def as_expression(self, region: Region) -> tuple[ast.expr, bool, int] | None:
        """A region that yields one value as an expression, if it can be one."""
        try:
            body = Body(self.module, region, expression=True).run()
            expressions, ordered, depth = body.take(region.yields, statement=True)
        except NotAnExpression:
            return None
        return expressions[0], ordered, depth

    def branch(self, operation: typed.If) -> None:
        """A conditional expression where the user wrote one, else `if`."""
        if len(operation.results) == 1 and not is_statement(operation.span):
            then, orelse = self.as_expression(operation.then), self.as_expression(operation.orelse)
            if then is not None and orelse is not None:
                (test,), ordered, depth = self.take([operation.condition])
                ordered = ordered or then[1] or orelse[1]
                expression = ast.IfExp(test, then[0], orelse[0])
                self.produce(operation.results[0], expression, operation.span, ordered, max(depth, then[2], orelse[2]))
                return
        if self.expression:
            raise NotAnExpression
        (test,), _, _ = self.take([operation.condition], statement=True)
        arms = [self.inner(region).assign_yields(operation.results, region.yields) for region in operation.regions]
        self.emit(Branch(operation.span, test, *arms))

    def end_of_iteration(self, parameters: Sequence[Value], yields: Sequence[Value], stops: bool) -> list[Statement]:
        """The statements of this loop body, ending in the next carried values and, after `break`, in leaving the loop."""
        module = self.module
        if not stops:
            return self.assign_yields(parameters, yields)
        stop, *carried = yields
        constant = module.literals.get(stop)
        if stop in self.pending:  # it is looked at last, after the carried variables have changed
            self.settle([v for v, pending in self.pending.items() if pending.ordered or v is stop])
        statements = self.assign_yields(parameters, carried)
        if constant is None or constant.value:
            self.emit(Leave(module.read(stop)))
        return statements

    def sequential(self, operation: typed.For) -> None:
        """`for index in range(…)`."""
        if self.expression:
            raise NotAnExpression
        extent, module = operation.extent, self.module
        index, *carried = operation.body.parameters
        operands, _, _ = self.take((*operation.inits, extent.lower, extent.upper, extent.step), statement=True)
        if carried:
            self.emit(Copy(list(map(module.root, carried)), operands[:-3]))
        lower, upper, step = operands[-3:]
        body = self.inner(operation.body)
        statements = body.end_of_iteration(carried, operation.body.yields, operation.stops)
        self.emit(Loop(operation.span, [module.root(index)], range_of(lower, upper, step, operation.site), statements))

    def repeat(self, operation: typed.While) -> None:
        """`while condition`; a condition that needs statements is computed at the loop's head."""
        if self.expression:
            raise NotAnExpression
        carried = operation.body.parameters
        inits, _, _ = self.take(operation.inits, statement=True)
        if carried:
            self.emit(Copy(list(map(self.module.root, carried)), inits))
        statements = self.inner(operation.body).end_of_iteration(carried, operation.body.yields, operation.stops)
        test = self.as_expression(operation.condition)
        if test is not None:
            self.emit(Repeat(operation.span, test[0], statements))
            return
        head = self.inner(operation.condition)
        (condition,), _, _ = head.take(operation.condition.yields, statement=True)
        head.emit(Leave(ast.UnaryOp(ast.Not(), condition)))
        self.emit(Repeat(operation.span, None, head.statements + statements))

    def parallel(self, operation: typed.Parallel | typed.Blocks) -> None:
        """A loop over the box; each reduction has an accumulator that its contributions are added to."""
        if self.expression:
            raise NotAnExpression
        module, span = self.module, operation.span
        inits = [value for reduction in operation.reductions for value in reduction.inits]
        bounds = [value for extent in operation.box for value in (extent.lower, extent.upper, extent.step)]
        operands, _, _ = self.take((*inits, *bounds), statement=True)
        accumulators = self.accumulators(operation.reductions, operands[: len(inits)], span)
        extents = [tuple_of(operands[k : k + 3]) for k in range(len(inits), len(operands), 3)]
        iterator = call("grid", [literal(operation.site), tuple_of(list(map(module.read, accumulators))), *extents])
        body = self.inner(operation.body)
        values = operation.body.parameters[len(operation.box) :]
        body.assign_yields(values, operation.body.yields)
        for accumulator, mine in zip(accumulators, grouped(operation.reductions, values), strict=True):
            add = ast.Attribute(module.read(accumulator), "add", ast.Load())
            body.emit(Evaluate(None, ast.Call(add, list(map(module.read, mine)), [])))
        self.emit(Loop(span, list(map(module.root, operation.body.parameters)), iterator, body.statements))
        self.end_reductions(operation, accumulators)

    def accumulators(self, reductions: Sequence[typed.Reduction], inits: list[ast.expr], span: Span) -> list[Value]:
        """A variable for each reduction, in which it comes together."""
        accumulators = [Value(BOOL_, span) for _ in reductions]
        starts = iter(inits)
        for reduction, accumulator in zip(reductions, accumulators, strict=True):
            start = [next(starts) for _ in reduction.inits]
            self.emit(Assign(span, [accumulator], self.module.expressions.reduction(reduction, accumulate, start)))
        return accumulators

    def end_reductions(self, operation: typed.Parallel | typed.Blocks | typed.Threads, accumulators: list[Value]) -> None:
        """The results of a parallel loop."""
        for accumulator, mine in zip(accumulators, grouped(operation.reductions, operation.results), strict=True):
            value = call("reduced", [self.module.read(accumulator)])
            self.emit(Assign(operation.span, list(map(self.module.root, mine)), value))


def accumulate(operator: str, types: tuple[ScalarType, ...]) -> partial[Accumulator]:
    """A function that makes the accumulator of a reduction from the values before the loop."""
    return partial(Accumulator, operator, types)


def grouped(reductions: Sequence[typed.Reduction], values: Sequence[T]) -> Iterator[list[T]]:
    """The values of all reductions, one list for each."""
    rest = iter(values)
    for reduction in reductions:
        yield [next(rest) for _ in reduction.inits]


def assigns(span: Span, name: str) -> bool:
    """Whether the expression at `span` is what a statement gives to `name`."""
    before = span.source.line(span.line)[: span.column]
    return re.search(rf"(^|[\s;=,]){re.escape(name)}\s*(:[^=]*)?=\s*$", before) is not None


def is_statement(span: Span) -> bool:
    """Whether an `If` of this span was written as a statement."""
    line = span.source.line(span.line)
    return re.match(r"(el)?if\b", line[span.column :]) is not None
