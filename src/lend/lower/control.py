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
    """`for index in range(lower, upper, step)`."""
    builder, types = writer.builder, types_of(operation.results)
    lower, upper, step = (writer.scalar(v) for v in (operation.extent.lower, operation.extent.upper, operation.extent.step))
    mark = writer.enter(operation.body)
    inits = [writer.get(value) for value in operation.inits]
    count = checked_count(writer, lower, upper, step, operation.site)
    body, latch, after = (builder.new_block(hint) for hint in ("loop", "latch", "after"))
    some = builder.emit(f"icmp ne i64 {count}, 0")
    before = builder.block
    builder.branch(some, body, after)
    builder.open(body)
    counter, bumped = builder.fresh("k"), builder.fresh("k")
    builder.append(f"{counter} = phi i64 [ 0, %{before} ], [ {bumped}, %{latch} ]")
    carried = open_carried(writer, types, inits, before, latch)
    index = add(builder, lower, multiply(builder, counter, step))
    writer.bind_all(operation.body.parameters, [index, *carried.values])
    writer.carried.append(operation.body.parameters[1:])
    with writer.facts.loop():
        writer.facts.index(index, lower, upper, step)
        yields = writer.run(operation.body)
    writer.carried.pop()
    stop, following = (yields[:1], yields[1:]) if operation.stops else ([], yields)
    writer.leave(mark, following)
    end = builder.block
    builder.jump(latch)
    builder.open(latch)
    last = carried.close(writer, following, end)
    builder.append(f"{bumped} = add nuw i64 {counter}, 1")  # at most `count`
    done = builder.emit(f"icmp eq i64 {bumped}, {count}")
    if stop:
        done = builder.emit(f"or i1 {done}, {stop[0]}")
    builder.branch(done, after, body, properties=writer.properties(operation))
    builder.open(after)
    writer.bind_all(operation.results, writer.merge(types, [(inits, before), (last, latch)]))


def write_while(writer: FunctionWriter, operation: While) -> None:
    """`while`; in a device region it also ends when this chunk has recorded a fault."""
    builder, types = writer.builder, types_of(operation.results)
    mark = writer.enter(operation.condition, operation.body)
    inits = [writer.get(value) for value in operation.inits]
    head, body, latch, after = (builder.new_block(hint) for hint in ("while", "body", "latch", "after"))
    before = builder.block
    builder.jump(head)
    builder.open(head)
    carried = open_carried(writer, types, inits, before, latch)
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
    builder.jump(latch)
    builder.open(latch)
    last = carried.close(writer, following, end)
    if stop:
        assert isinstance(stop[0], str)
        arms.append((last, latch))
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
    loop, latch, after = (builder.new_block(name) for name in ("loop", "latch", "after"))
    before = builder.block
    builder.jump(loop)
    builder.open(loop)
    counter, bumped = builder.fresh(hint), builder.fresh(hint)
    builder.append(f"{counter} = phi i64 [ {begin}, %{before} ], [ {bumped}, %{latch} ]")
    body(counter)
    builder.jump(latch)
    builder.open(latch)
    builder.append(f"{bumped} = add nuw nsw i64 {counter}, 1")  # at most `end`; begin is not negative
    done = builder.emit(f"icmp eq i64 {bumped}, {end}")
    builder.branch(done, after, loop, properties=properties)
    builder.open(after)


@dataclass
class Carried:
    """The phis of a loop: what is carried now, and the names that the next values will have."""

    types: list[Type]
    values: list[Lowered]
    _following: list[list[tuple[str, str]]]

    def close(self, writer: FunctionWriter, following: list[Lowered], block: str) -> list[Lowered]:
        """At the start of the latch, reached from `block` alone: name the next values, and give them."""
        for type, names, value in zip(self.types, self._following, following, strict=True):
            for (llvm, name), (_, operand) in zip(names, operands(type, value), strict=True):
                writer.builder.append(f"{name} = phi {llvm} [ {operand}, %{block} ]")
        return [
            assemble(writer.builder, type, [name for _, name in names])
            for type, names in zip(self.types, self._following, strict=True)
        ]


def open_carried(writer: FunctionWriter, types: list[Type], inits: list[Lowered], before: str, latch: str) -> Carried:
    """The phis at the start of a loop's first block, reached from `before` and from `latch`."""
    builder = writer.builder
    merged: list[list[str]] = []
    following: list[list[tuple[str, str]]] = []
    for type, init in zip(types, inits, strict=True):
        names: list[str] = []
        following.append([])
        for llvm, operand in operands(type, init):
            name = builder.fresh("next")
            names.append(builder.emit(f"phi {llvm} [ {operand}, %{before} ], [ {name}, %{latch} ]"))
            following[-1].append((llvm, name))
        merged.append(names)
    values = [assemble(builder, type, names) for type, names in zip(types, merged, strict=True)]
    return Carried(types, values, following)
