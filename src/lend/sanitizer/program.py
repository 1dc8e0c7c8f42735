"""A typed tree as a Python program that calls the judge at every access.

Does: write the tree as text, one statement an operation, and compile it. Threads of a block become generators that stop at
barriers, sub-group operations and atomics.  Does not: anything at run time (`judge.py`, `teams.py`), or look at proofs.
Invariants: each operation keeps its order; scalars mean what `language/arithmetic.py` says; what can go wrong gets a number,
which is its place in `Program.places`. Names in the text: `v…` are values, `c…` constants, `h…` functions on scalars, `n…` count
the iterations of loops around barriers, `f…` are bodies of parallel loops, `A` is the actor; the rest are the judge's functions.

Example: `s[t] = x[t]` becomes `v7 = load(A, 3, v2, v5)` and `store(A, 4, v7, v4, v5)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lend.diagnostics.errors import InternalError
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.arithmetic import binary_function, cast_function, unary_function
from lend.language.libm import math_function
from lend.language.types import F64, ScalarType
from lend.sanitizer.memory import place_in
from lend.sanitizer.opaque import Opaque

COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
EXACT = {"add": "+", "sub": "-", "mul": "*"}


@dataclass(frozen=True)
class Place:
    """An operation, where it is called from (outermost first), and the names of the indices around it."""

    operation: Operation
    calls: tuple[Span, ...]
    blocks: tuple[str, ...]  # of the blocks, or of the grid
    threads: tuple[str, ...]

    @property
    def span(self) -> Span:
        """Where the user wrote it."""
        return self.operation.span


@dataclass
class Program:
    """A kernel's text and what it speaks of: it is bound to a judge's functions."""

    text: str
    entry: str
    places: list[Place]
    names: dict[str, Any]

    def bind(self, functions: dict[str, Callable[..., Any]]) -> Callable[..., tuple[Any, ...]]:
        """The kernel as a function of its sizes and leaves."""
        namespace: dict[str, Any] = {**self.names, **functions}
        exec(compile(self.text, "<lend.sanitize>", "exec"), namespace)
        return namespace[self.entry]


def program(kernel: typed.Kernel) -> Program:
    """The program of a typed kernel."""
    return _Writer(kernel).program()


@dataclass
class _Level:
    """Where the writer stands: indices around it, call sites, and the counters of loops around barriers."""

    blocks: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    in_threads: bool = False
    calls: tuple[Span, ...] = ()
    counters: list[str] = field(default_factory=list[str])


class _Writer:
    def __init__(self, kernel: typed.Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.depth = 0
        self.texts: dict[Value, str] = {}
        self.places: list[Place] = []
        self.names: dict[str, Any] = {}
        self.helpers: dict[int, str] = {}  # by identity; `names` keeps them alive
        self.level = _Level()
        self.count = 0
        self.opaque = Opaque(kernel)

    def program(self) -> Program:
        kernel = self.kernel
        parameters = [self.define(value) for value in (*kernel.dims, *(p.value for p in kernel.parameters))]
        self.write(f"def kernel({', '.join(parameters)}):")
        self.depth += 1
        self.write("A = None")
        self.region(kernel.body)
        self.write(f"return {self.tuple_of(kernel.body.yields)}")
        self.depth -= 1
        return Program("\n".join(self.lines) + "\n", "kernel", self.places, self.names)

    # --------------------------------------------------------------------------------------------------- pieces

    def write(self, line: str) -> None:
        self.lines.append(" " * self.depth + line)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def define(self, value: Value) -> str:
        """A variable for a value."""
        name = self.texts[value] = self.fresh("v")
        return name

    def read(self, value: Value) -> str:
        return self.texts[value]

    def tuple_of(self, values: Sequence[Value]) -> str:
        return f"({''.join(f'{self.read(v)}, ' for v in values)})"

    def helper(self, function: Any) -> str:
        """A name for something of Python's that the text uses."""
        name = self.helpers.setdefault(id(function), f"h{len(self.helpers)}")
        self.names[name] = function
        return name

    def place(self, operation: Operation) -> int:
        """The number of an operation that can go wrong."""
        level = self.level
        self.places.append(Place(operation, level.calls, level.blocks, level.threads))
        return len(self.places) - 1

    def assign(self, targets: Sequence[str], values: Sequence[str]) -> None:
        """All at once: a loop may hand its variables round."""
        if targets:
            self.write(f"{', '.join(targets)} = {', '.join(values)}")

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    # ----------------------------------------------------------------------------------------------- operations

    def operation(self, operation: Operation) -> None:
        match operation:
            case typed.If():
                self.branch(operation)
                self.barrier_after(operation)
            case typed.For():
                self.for_loop(operation)
                self.barrier_after(operation)
            case typed.While():
                self.while_loop(operation)
                self.barrier_after(operation)
            case typed.Call():
                self.call(operation)
            case typed.Parallel():
                self.parallel(operation)
            case typed.Blocks():
                self.team_blocks(operation)
            case typed.Threads():
                self.team_threads(operation)
            case typed.Constant():
                self.constant(operation)
            case typed.Sync():
                self.write(f'yield "sync", {self.place(operation)}, {self.context()}')
            case typed.Subgroup():
                self.subgroup(operation)
            case typed.Atomic():
                self.atomic(operation)
            case typed.Store():
                value, at = self.read(operation.value), self.element(operation)
                self.write(f"store(A, {self.place(operation)}, {value}, {at})")
            case typed.Require():
                others = [self.read(v) if v is not None else "0" for v in (operation.index, operation.size)]
                self.write(f"require({operation.site}, {self.read(operation.condition)}, {', '.join(others)})")
            case _:
                expression = self.expression(operation)
                self.write(f"{self.define(operation.result)} = {expression}")

    def constant(self, operation: typed.Constant) -> None:
        value = operation.value
        if isinstance(value, float | complex):
            name = self.fresh("c")
            self.names[name] = value
            self.texts[operation.result] = name
        else:
            self.texts[operation.result] = repr(value) if value >= 0 else f"({value!r})"

    def expression(self, operation: Operation) -> str:
        operands = [self.read(value) for value in operation.operands]
        match operation:
            case typed.Unary():
                function = unary_function(operation.operator, operation.operand.scalar)
                return f"{self.helper(function)}({operands[0]})"
            case typed.Binary():
                return self.binary(operation, *operands)
            case typed.Math():
                function = math_function(operation.function, [value.scalar for value in operation.arguments])
                return f"{self.helper(function)}({', '.join(operands)})"
            case typed.Cast():
                return self.cast(operation.operand.scalar, operation.result.scalar, operands[0])
            case typed.Load():
                return f"load(A, {self.place(operation)}, {self.element(operation)})"
            case typed.Size():
                return f"{operands[0]}.shape[{operation.dimension}]"
            case typed.View():
                parts = [self.part(part) for part in operation.parts]
                return f"view(A, {self.place(operation)}, {operands[0]}, ({''.join(f'{part}, ' for part in parts)}))"
            case typed.Reshape():
                return f"reshape({self.place(operation)}, {operands[0]}, ({''.join(f'{size}, ' for size in operands[1:])}))"
            case typed.Allocate():
                return f"allocate({self.place(operation)}, ({''.join(f'{size}, ' for size in operands)}))"
            case typed.Local():
                return f"local({self.place(operation)})"
            case typed.Shared():
                return f"shared(A, {self.place(operation)})"
            case typed.Distinct():
                return f"distinct(A, {self.place(operation)}, {', '.join(operands)})"
            case _:
                raise InternalError(f"no judgement for {type(operation).__name__}", operation.span)

    def binary(self, operation: typed.Binary, left: str, right: str) -> str:
        operator, type = operation.operator, operation.left.scalar
        if operator in COMPARISONS:
            return f"{left} {COMPARISONS[operator]} {right}"
        if type is F64 and operator in EXACT:
            return f"{left} {EXACT[operator]} {right}"
        function = self.helper(binary_function(operator, type))
        if operation.site is None:
            return f"{function}({left}, {right})"
        return f"checked(A, {self.place(operation)}, {function}, {left}, {right})"

    def cast(self, source: ScalarType, target: ScalarType, operand: str) -> str:
        narrower = (
            source.is_integer and target.is_integer and source.minimum >= target.minimum and source.maximum <= target.maximum
        )
        return operand if narrower or source is target else f"{self.helper(cast_function(target))}({operand})"

    def element(self, operation: typed.Load | typed.Store | typed.Atomic) -> str:
        """The arguments that name an element: the array, the place in a record, the indices."""
        array = operation.array
        path = () if isinstance(operation, typed.Atomic) else operation.path
        indices = "".join(f"{self.read(index)}, " for index in operation.indices)
        return f"{self.read(array)}, {place_in(array.array.element, path)}, ({indices})"

    def part(self, part: Value | Extent) -> str:
        return self.read(part) if isinstance(part, Value) else self.bounds(part)

    def bounds(self, extent: Extent) -> str:
        return self.tuple_of((extent.lower, extent.upper, extent.step))

    def atomic(self, operation: typed.Atomic) -> None:
        if self.level.in_threads:
            self.write("yield None")
        value, expected = (self.read(v) if v is not None else "None" for v in (operation.value, operation.expected))
        call = f"atomic(A, {self.place(operation)}, {value}, {expected}, {self.element(operation)})"
        self.write(f"{self.define(operation.result)} = {call}")

    # ------------------------------------------------------------------------------------------------- control

    def branch(self, operation: typed.If) -> None:
        results = [self.define(result) for result in operation.results]
        for head, arm in ((f"if {self.read(operation.condition)}:", operation.then), ("else:", operation.orelse)):
            self.write(head)
            self.depth += 1
            self.region(arm)
            self.assign(results, [self.read(v) for v in arm.yields])
            self.write("pass")
            self.depth -= 1

    def barrier_after(self, operation: typed.If | typed.For | typed.While) -> None:
        """The barrier that follows what holds one, where nobody can tell how often it is met."""
        holds = any(isinstance(inner, typed.Sync) for inner in _all_operations(operation))
        if self.level.in_threads and holds and self.opaque.followed(operation):
            self.write(f'yield "sync", {self.place(operation)}, {self.context()}')

    def counted(self, operation: typed.For | typed.While) -> str | None:
        """A counter for a loop with barriers in it, set to zero before it."""
        if not (self.level.in_threads and any(map(_meets, _all_operations(operation)))):
            return None
        name = self.fresh("n")
        self.write(f"{name} = 0")
        return name

    def loop_body(self, operation: typed.For | typed.While, carried: list[str], counter: str | None) -> None:
        """The body of a loop, its counter, and what it carries on."""
        if counter is not None:
            self.write(f"{counter} += 1")
            self.level.counters.append(counter)
        self.region(operation.body)
        if counter is not None:
            self.level.counters.pop()
        yields = operation.body.yields
        self.assign(carried, [self.read(v) for v in yields[int(operation.stops) :]])
        if operation.stops:
            self.write(f"if {self.read(yields[0])}: break")
        self.write("pass")

    def for_loop(self, operation: typed.For) -> None:
        counter = self.counted(operation)
        carried = [self.define(value) for value in operation.body.parameters[1:]]
        self.assign(carried, [self.read(v) for v in operation.inits])
        extent = operation.extent
        bounds = ", ".join(map(self.read, (extent.lower, extent.upper, extent.step)))
        steps = f"range({bounds})" if operation.site is None else f"steps(A, {self.place(operation)}, {bounds})"
        self.write(f"for {self.define(operation.body.parameters[0])} in {steps}:")
        self.depth += 1
        self.loop_body(operation, carried, counter)
        self.depth -= 1
        self.assign([self.define(result) for result in operation.results], carried)

    def while_loop(self, operation: typed.While) -> None:
        counter = self.counted(operation)
        carried = [self.define(value) for value in operation.body.parameters]
        self.assign(carried, [self.read(v) for v in operation.inits])
        for value, name in zip(operation.condition.parameters, carried, strict=True):
            self.texts[value] = name
        self.write("while True:")
        self.depth += 1
        self.write(f"again(A, {self.place(operation)})")
        self.region(operation.condition)
        self.write(f"if not {self.read(operation.condition.yields[0])}: break")
        self.loop_body(operation, carried, counter)
        self.depth -= 1
        self.assign([self.define(result) for result in operation.results], carried)

    def call(self, operation: typed.Call) -> None:
        for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
            self.texts[parameter] = self.read(argument)
        before = self.level.calls
        self.level.calls = (*before, operation.span)
        self.region(operation.body)
        self.level.calls = before
        for result, value in zip(operation.results, operation.body.yields, strict=True):
            self.texts[result] = self.read(value)

    # ---------------------------------------------------------------------------------------- barriers and teams

    def context(self) -> str:
        return f"({''.join(f'{counter}, ' for counter in self.level.counters)})"

    def subgroup(self, operation: typed.Subgroup) -> None:
        value, lane = (self.read(v) if v is not None else "None" for v in (operation.value, operation.lane))
        event = f'yield "subgroup", {self.place(operation)}, {self.context()}, {value}, {lane}'
        self.write(f"{self.define(operation.results[0])} = {event}" if operation.results else event)

    def function(self, region: Region, *, generator: bool) -> str:
        """A function of the actor and the region's parameters that gives what the region yields."""
        name = self.fresh("f")
        self.write(f"def {name}(A, {', '.join([self.define(p) for p in region.parameters])}):")
        self.depth += 1
        self.region(region)
        if generator:
            self.write("if False: yield")
        self.write(f"return {self.tuple_of(region.yields)}")
        self.depth -= 1
        return name

    def launched(self, operation: typed.Parallel | typed.Blocks, *, team: bool) -> None:
        """A parallel loop: its body as a function, the loop itself as a call."""
        place = self.place(operation)
        before, self.level = self.level, _Level(_names(operation.body, len(operation.box)), (), False, self.level.calls)
        body = self.function(operation.body, generator=team)
        self.level = before
        box = "".join(f"{self.bounds(extent)}, " for extent in operation.box)
        run = "blocks" if team else "grid"
        self.take(operation.results, f"{run}({place}, ({box}), {body}, {self.inits(operation.reductions)})")

    def parallel(self, operation: typed.Parallel) -> None:
        self.launched(operation, team=False)

    def team_blocks(self, operation: typed.Blocks) -> None:
        self.launched(operation, team=True)

    def team_threads(self, operation: typed.Threads) -> None:
        place = self.place(operation)
        before, level = self.level, self.level
        self.level = _Level(level.blocks, _names(operation.body, len(operation.sizes)), True, level.calls)
        waits = any(_meets(inner) or isinstance(inner, typed.Atomic) for inner in _all_operations(operation))
        body = self.function(operation.body, generator=waits)
        self.level = before
        run = f"yield from threads(A, {place}, {body}, {waits}, {self.inits(operation.reductions)})"
        self.take(operation.results, run)

    def inits(self, reductions: Sequence[typed.Reduction]) -> str:
        return f"({''.join(f'{self.tuple_of(reduction.inits)}, ' for reduction in reductions)})"

    def take(self, results: Sequence[Value], call: str) -> None:
        targets = [self.define(result) for result in results]
        self.write(f"{''.join(f'{target}, ' for target in targets)}= {call}" if targets else call)


def _names(body: Region, count: int) -> tuple[str, ...]:
    return tuple(parameter.name or f"index {k}" for k, parameter in enumerate(body.parameters[:count]))


def _meets(operation: Operation) -> bool:
    return isinstance(operation, typed.Sync | typed.Subgroup)


def _all_operations(operation: Operation) -> Iterator[Operation]:
    """An operation and all inside it."""
    yield operation
    for region in operation.regions:
        for inner in region.operations:
            yield from _all_operations(inner)
