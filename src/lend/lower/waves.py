"""Waves -> LLVM: the phases of a loop wait in a queue, and then several steps of them run together.

Does: write, in the host function, what puts a phase into the queue, and when the queue is run.
Does not: run it (`waves_ir.py`), or find out which loops allow it (`plan/waves.py`).
Invariants: a phase that waits has what it needs in a block of its own, written when the loop got to it. Where waves do not pay,
or a coordinate is too large to count with, nothing waits. The queue is empty before the loop, after it, and before each
barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lend.diagnostics.records import dataclass
from lend.ir.typed import For, Parallel
from lend.language.types import size_of
from lend.lower import waves_ir as ir
from lend.lower.builder import FunctionBuilder
from lend.lower.environment import WORD, Environment, at
from lend.lower.indexing import LARGEST, add, literal, multiply, range_count, saturating_product
from lend.lower.values import ArrayValue
from lend.lower.writer import FunctionWriter
from lend.plan.waves import Coordinate, Phase, Reach, Wave

if TYPE_CHECKING:
    from lend.lower.regions import Axis


@dataclass(frozen=True)
class Launch:
    """A phase that the loop has got to: the function, what it is handed, its box (`iterations` in all) and its arrays."""

    phase: Phase
    function: str
    environment: Environment
    axes: list[Axis]
    iterations: str
    arrays: list[ArrayValue]


@dataclass(frozen=True)
class Span:
    """First and last (exclusive) coordinate, and how many iterations in a row have the same one; operands."""

    first: str
    last: str
    each: str


class WaveWriter:
    """One loop being written."""

    def __init__(self, host: FunctionWriter, wave: Wave) -> None:
        self._host = host
        self._builder = host.builder
        self._wave = wave
        self.barriers = wave.barriers
        self._numbers = {phase.parallel: number for number, phase in enumerate(wave.phases)}
        self._count = str(len(wave.phases))
        self._table = self._write_table()
        for name, text in ir.DECLARATIONS.items():
            self._builder.module.declare(name, text)
        self._steps = self._write_steps()
        self._queue = self._builder.alloca(f"[{ir.QUEUE_WORDS} x i64]", "queue", 16)
        self._set(ir.COUNT, "0")

    def phase(self, parallel: Parallel) -> Phase | None:
        """The phase that a parallel loop is, if it is one."""
        number = self._numbers.get(parallel)
        return None if number is None else self._wave.phases[number]

    def flush(self) -> None:
        """Run what waits."""
        self._builder.append(f"call void @lend_wave_flush(ptr {self._queue}, ptr {self._table}, i64 {self._count})")

    def launch(self, launch: Launch, at_once: Callable[[str], None]) -> None:
        """Let a phase wait, or run it `at_once` with its block of values."""
        builder = self._builder
        words = launch.environment.words
        area = builder.alloca(f"[{ir.CAPACITY * words} x i64]", "envs", 16)
        rows, columns = self._spans(launch)
        names = ("countable", "far", "idle", "now", "wait", "due", "launched")
        countable, far, idle, now, wait, due, after = (builder.new_block(name) for name in names)
        builder.branch(self._small([rows.first, rows.last, columns.first, columns.last]), countable, far)
        builder.open(far)
        self.flush()
        builder.jump(now)
        builder.open(countable)
        count = self._get(ir.COUNT)
        empty = builder.emit(f"icmp eq i64 {count}, 0")
        builder.branch(empty, idle, wait)
        builder.open(idle)
        builder.branch(self._open(launch, rows, columns), wait, now)
        builder.open(now)
        at_once(launch.environment.fill(area))
        builder.jump(after)
        builder.open(wait)
        env = at_slot(builder, area, multiply(builder, count, str(words)))
        launch.environment.fill(env)
        self._push(launch, count, env, rows, columns)
        more = add(builder, count, "1")
        self._set(ir.COUNT, more)
        full = builder.emit(f"icmp eq i64 {more}, {self._get(ir.LIMIT)}")
        builder.branch(full, due, after)
        builder.open(due)
        self.flush()
        builder.jump(after)
        builder.open(after)

    # ------------------------------------------------------------------------------------------- parts

    def _spans(self, launch: Launch) -> tuple[Span, Span]:
        """Rows and columns; a phase without columns has one."""
        phase, axes = launch.phase, launch.axes
        taken = 0 if phase.row.dimension is None else phase.row.dimension + 1
        row = saturating_product(self._builder, [axis.count for axis in axes[taken:]])
        rows = self._span(phase.row, axes, row)
        if phase.column is None:
            return rows, Span("0", "1", row)
        taken = taken if phase.column.dimension is None else phase.column.dimension + 1
        column = saturating_product(self._builder, [axis.count for axis in axes[taken:]])
        return rows, self._span(phase.column, axes, column)

    def _span(self, coordinate: Coordinate, axes: list[Axis], each: str) -> Span:
        builder = self._builder
        if coordinate.dimension is not None:
            axis = axes[coordinate.dimension]
            return Span(axis.lower, axis.upper, each)
        terms, number = coordinate.place
        place = str(number)
        for value, factor in terms:
            place = add(builder, place, multiply(builder, self._host.scalar(value), str(factor)))
        return Span(place, add(builder, place, "1"), each)

    def _small(self, coordinates: list[str]) -> str:
        """Whether coordinates can be counted with."""
        builder, result = self._builder, "true"
        for coordinate in coordinates:
            number = literal(coordinate)
            if number is None:
                moved = builder.emit(f"add i64 {coordinate}, {ir.FARTHEST}")
                inside = builder.emit(f"icmp ult i64 {moved}, {2 * ir.FARTHEST}")
                result = inside if result == "true" else builder.emit(f"and i1 {result}, {inside}")
            elif abs(number) >= ir.FARTHEST:
                return "false"
        return result

    def _open(self, launch: Launch, rows: Span, columns: Span) -> str:
        """Whether phases from this one on are to wait; only one that lies along the rows can tell."""
        builder, wave = self._builder, self._wave
        if launch.phase.row.dimension is None:
            return "false"
        bytes = "0"
        for array in launch.arrays:
            size = saturating_product(builder, [*array.sizes, str(size_of(array.type.element))])
            bytes = _capped_sum(builder, bytes, size)
        arguments = [
            bytes,
            launch.iterations,
            builder.emit(f"sub i64 {rows.last}, {rows.first}"),
            rows.each,
            builder.emit(f"sub i64 {columns.last}, {columns.first}"),
            columns.each,
            str(wave.rows.skew),
            str(wave.rows.skew + wave.rows.lag),
            str(0 if wave.columns is None else wave.columns.skew),
            self._count,
            self._steps,
        ]
        limit = builder.emit(f"call i64 @lend_wave_open(ptr {self._queue}, {', '.join(f'i64 {a}' for a in arguments)})")
        return builder.emit(f"icmp ne i64 {limit}, 0")

    def _push(self, launch: Launch, count: str, env: str, rows: Span, columns: Span) -> None:
        builder = self._builder
        place = add(builder, multiply(builder, count, str(ir.ENTRY)), str(ir.HEADER))
        entry = at_slot(builder, self._queue, place)
        builder.append(f"store ptr @{launch.function}, ptr {at(builder, entry, ir.REGION)}, align {WORD}")
        builder.append(f"store ptr {env}, ptr {at(builder, entry, ir.ENV)}, align {WORD}")
        words = {
            ir.FIRST: rows.first,
            ir.LAST: rows.last,
            ir.ROW: rows.each,
            ir.BEGIN: columns.first,
            ir.END: columns.last,
            ir.COLUMN: columns.each,
            ir.PHASE: str(self._numbers[launch.phase.parallel]),
        }
        for word, operand in words.items():
            builder.append(f"store i64 {operand}, ptr {at(builder, entry, word)}, align {WORD}")

    def _write_steps(self) -> str:
        """How many steps the loop has, at most; at least 1, where it has any."""
        loop, most = self._wave.loop, str(ir.MOST_BYTES)
        if not isinstance(loop, For) or loop.site is not None:
            return most
        builder, extent = self._builder, loop.extent
        lower, upper, step = (self._host.scalar(value) for value in (extent.lower, extent.upper, extent.step))
        count = range_count(builder, lower, upper, step)
        fewer = builder.emit(f"icmp ult i64 {count}, {most}")
        capped = builder.emit(f"select i1 {fewer}, i64 {count}, i64 {most}")
        some = builder.emit(f"icmp ne i64 {count}, 0")
        return builder.emit(f"select i1 {some}, i64 {capped}, i64 1", "steps")

    def _write_table(self) -> str:
        """The distances as a constant of the module: ahead and behind along rows, ahead along columns."""
        columns = self._wave.columns or Reach(*([((None,) * len(self._numbers),) * len(self._numbers)] * 2))
        lines = (*self._wave.rows.ahead, *self._wave.rows.behind, *columns.ahead)
        numbers = [ir.NEVER if number is None else number for line in lines for number in line]
        name = f"lend.wave.table.{self._builder.fresh().rsplit('.', 1)[-1]}"
        text = ", ".join(f"i64 {number}" for number in numbers)
        self._builder.module.declare(name, f"@{name} = internal constant [{len(numbers)} x i64] [{text}]")
        return f"@{name}"

    def _get(self, word: int) -> str:
        return self._builder.emit(f"load i64, ptr {at(self._builder, self._queue, word)}, align {WORD}")

    def _set(self, word: int, operand: str) -> None:
        self._builder.append(f"store i64 {operand}, ptr {at(self._builder, self._queue, word)}, align {WORD}")


def at_slot(builder: FunctionBuilder, block: str, word: str) -> str:
    """The address of a word of a block, at a place that is computed."""
    return builder.emit(f"getelementptr i64, ptr {block}, i64 {word}")


def _capped_sum(builder: FunctionBuilder, a: str, b: str) -> str:
    """The sum of two numbers that are not negative, or the largest i64."""
    if a == "0":
        return b
    total = builder.emit(f"add i64 {a}, {b}")
    over = builder.emit(f"icmp slt i64 {total}, 0")
    return builder.emit(f"select i1 {over}, i64 {LARGEST}, i64 {total}")
