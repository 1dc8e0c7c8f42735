"""Control flow -> LLVM: branches, sequential loops, calls in place.

Does: If, For, While, Call, and the counted loop that device regions are made of.
Does not: parallel loops (`host.py`, `regions.py`).
Invariants: `If` is a branch, never a select, so that accesses happen only where they are written; a `For` counts its iterations
beforehand and cannot wrap; loops may be infinite as the program says (no `mustprogress`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lend.ir.typed import Call, For, If, Value, While
from lend.language.types import Type
from lend.lower.builder import FunctionBuilder
from lend.lower.faults import Failure
from lend.lower.indexing import add, literal, multiply, range_count
from lend.lower.values import Lowered, assemble, operands
from lend.lower.writer import FunctionWriter


def write_if(writer: FunctionWriter, operation: If) -> None:
    """A branch; the results are phis."""
    builder = writer.builder
    then, orelse, after = (builder.new_block(hint) for hint in ("then", "else", "after"))
    builder.branch(writer.scalar(operation.condition), then, orelse)
    arms: list[tuple[list[Lowered], str]] = []
    for block, region in ((then, operation.then), (orelse, operation.orelse)):
        builder.open(block)
        mark = writer.enter(region)
        yields = writer.run(region)
        writer.leave(mark, yields)
        arms.append((yields, builder.block))
        builder.jump(after)
    builder.open(after)
    writer.bind_all(operation.results, writer.merge(types_of(operation.results), arms))


def write_call(writer: FunctionWriter, operation: Call) -> None:
    """The body, in place."""
    mark = writer.enter(operation.body)
    writer.bind_all(operation.body.parameters, [writer.get(argument) for argument in operation.arguments])
    yields = writer.run(operation.body)
    writer.leave(mark, yields)
    writer.bind_all(operation.results, yields)


def write_for(writer: FunctionWriter, operation: For) -> None:
    """`for index in range(lower, upper, step)`, counted by the index itself where `counts_itself`, else from 0."""
    builder, types = writer.builder, types_of(operation.results)
    lower, upper, step = (writer.scalar(v) for v in (operation.extent.lower, operation.extent.upper, operation.extent.step))
    mark = writer.enter(operation.body)
    inits = [writer.get(value) for value in operation.inits]
    count = checked_count(writer, lower, upper, step, operation.site)
    if literal(count) == 0:
        writer.leave(mark, inits)
        writer.bind_all(operation.results, inits)
        return
    body, after = builder.new_block("loop"), builder.new_block("after")
    before = builder.block
    enter_loop(builder, count, body, after)
    itself = counts_itself(lower, step)
    counter, bumped, close_counter = open_counter(builder, lower if itself else "0", before)
    carried = open_carried(writer, types, inits, before)
    index = counter if itself else add(builder, lower, multiply(builder, counter, step))
    writer.bind_all(operation.body.parameters, [index, *carried.values])
    writer.carried.append(operation.body.parameters[1:])
    with writer.facts.loop():
        writer.facts.index(index, lower, upper, step)
        yields = writer.run(operation.body)
    writer.carried.pop()
    stop, following = (yields[:1], yields[1:]) if operation.stops else ([], yields)
    writer.leave(mark, following)
    end = builder.block
    carried.close(following, end)
    close_counter(end)
    writer.between_iterations(types, operation.body)
    builder.append(f"{bumped} = add {'nsw' if itself else 'nuw'} i64 {counter}, 1")  # at most `upper` or `count`
    done = builder.emit(f"icmp eq i64 {bumped}, {upper if itself else count}")
    if stop:
        done = builder.emit(f"or i1 {done}, {stop[0]}")
    builder.branch(done, after, body, properties=writer.properties(operation))
    builder.open(after)
    left = [(following, end)]
    writer.bind_all(operation.results, writer.merge(types, left if literal(count) else [(inits, before), *left]))


def counts_itself(lower: str, step: str) -> bool:
    """Whether a loop is counted by its index: LLVM then unrolls it with the odd iterations first, which suits short loops."""
    return step == "1" and lower.startswith("%")


def write_while(writer: FunctionWriter, operation: While) -> None:
    """`while`; in a device region it also ends when this chunk has recorded a fault."""
    builder, types = writer.builder, types_of(operation.results)
    mark = writer.enter(operation.condition, operation.body)
    inits = [writer.get(value) for value in operation.inits]
    head, body, after = (builder.new_block(hint) for hint in ("while", "body", "after"))
    before = builder.block
    builder.jump(head)
    builder.open(head)
    carried = open_carried(writer, types, inits, before)
    arms: list[tuple[list[Lowered], str]] = []
    faulted = writer.faulted()
    if faulted is not None:
        test = builder.new_block("test")
        arms.append((carried.values, builder.block))
        builder.branch(faulted, after, test)
        builder.open(test)
    writer.bind_all(operation.condition.parameters, carried.values)
    writer.carried.append(operation.condition.parameters)
    (condition,) = writer.run(operation.condition)
    assert isinstance(condition, str)
    arms.append((carried.values, builder.block))
    builder.branch(condition, body, after)
    builder.open(body)
    writer.bind_all(operation.body.parameters, carried.values)
    yields = writer.run(operation.body)
    writer.carried.pop()
    stop, following = (yields[:1], yields[1:]) if operation.stops else ([], yields)
    writer.leave(mark, following)
    end = builder.block
    carried.close(following, end)
    writer.between_iterations(types, operation.body)
    if stop:
        assert isinstance(stop[0], str)
        arms.append((following, end))
        builder.branch(stop[0], after, head)
    else:
        builder.jump(head)
    builder.open(after)
    results = writer.merge(types, arms)
    writer.leave(mark, results)  # what the last evaluation of the condition left
    writer.bind_all(operation.results, results)


def checked_count(writer: FunctionWriter, lower: str, upper: str, step: str, site: int | None) -> str:
    """The number of iterations of a range; 0 after the fault of a zero step."""
    if literal(step) is not None and int(step) != 0:
        return range_count(writer.builder, lower, upper, step)
    builder = writer.builder
    ok = builder.emit(f"icmp ne i64 {step}, 0")
    minded = ok if site is None else writer.check(ok, site, Failure)
    if minded != "true":
        step = builder.emit(f"select i1 {ok}, i64 {step}, i64 1")
    count = range_count(builder, lower, upper, step)
    return count if minded == "true" else builder.emit(f"select i1 {ok}, i64 {count}, i64 0")


def types_of(values: tuple[Value, ...]) -> list[Type]:
    """The types of values."""
    return [value.type for value in values]


def counted_loop(
    writer: FunctionWriter, begin: str, end: str, body: Callable[[str], None], hint: str = "k", properties: tuple[str, ...] = ()
) -> None:
    """`for k in range(begin, end): body(k)`, where begin < end is known (both signed). `properties`: metadata nodes."""
    builder = writer.builder
    loop, after = builder.new_block("loop"), builder.new_block("after")
    before = builder.block
    builder.jump(loop)
    builder.open(loop)
    counter, bumped, close_counter = open_counter(builder, begin, before, hint)
    body(counter)
    close_counter(builder.block)
    builder.append(f"{bumped} = add nuw nsw i64 {counter}, 1")  # at most `end`; begin is not negative
    done = builder.emit(f"icmp eq i64 {bumped}, {end}")
    builder.branch(done, after, loop, properties=properties)
    builder.open(after)


def enter_loop(builder: FunctionBuilder, count: str, body: str, after: str) -> None:
    """Go on to a loop of `count` iterations, which opens, or past it where there are none."""
    if literal(count):
        builder.jump(body)
    else:
        builder.branch(builder.emit(f"icmp ne i64 {count}, 0"), body, after)
    builder.open(body)


def open_counter(builder: FunctionBuilder, begin: str, before: str, hint: str = "k") -> tuple[str, str, Callable[[str], None]]:
    """At the start of a loop: its counter, the name of the next one, and what to call with the block that the loop ends in."""
    counter, bumped, write = builder.fresh(hint), builder.fresh(hint), builder.later()
    return counter, bumped, lambda end: write(f"{counter} = phi i64 [ {begin}, %{before} ], [ {bumped}, %{end} ]")


@dataclass
class Carried:
    """The phis of a loop: what is carried now."""

    types: list[Type]
    values: list[Lowered]
    _close: list[list[Callable[[str, str], None]]]

    def close(self, following: list[Lowered], block: str) -> None:
        """At the end of the loop's last block: what is carried on."""
        for type, writers, value in zip(self.types, self._close, following, strict=True):
            for write, (_, operand) in zip(writers, operands(type, value), strict=True):
                write(operand, block)


def open_carried(writer: FunctionWriter, types: list[Type], inits: list[Lowered], before: str) -> Carried:
    """The phis at the start of a loop's first block, reached from `before` and from the loop's end."""
    builder = writer.builder
    phis = [
        [open_phi(builder, llvm, operand, before) for llvm, operand in operands(t, v)] for t, v in zip(types, inits, strict=True)
    ]
    values = [assemble(builder, type, [name for name, _ in names]) for type, names in zip(types, phis, strict=True)]
    return Carried(types, values, [[close for _, close in names] for names in phis])


def open_phi(builder: FunctionBuilder, llvm: str, init: str, before: str) -> tuple[str, Callable[[str, str], None]]:
    """A phi at the start of a loop, and what to call with its next value and the block that this comes from."""
    name, write = builder.fresh(), builder.later()
    return name, lambda operand, end: write(f"{name} = phi {llvm} [ {init}, %{before} ], [ {operand}, %{end} ]")
