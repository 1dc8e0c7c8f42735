"""Device regions -> kernels whose threads run several neighbouring iterations in lockstep.

Does: write `kernel @region_k_packs(…)`: a thread runs each operation of the body for all elements of its pack before the next,
so that accesses which lie side by side become wide ones; what is left of a row at its ends has a thread for each iteration.
Does not: decide where that may be (`plan/packs.py`), or make wide instructions: LLVM's code generators join neighbouring
accesses whose alignment says that they may be.
Invariants: single operations are written by the functions that write them for one element, so that they mean the same. What is
the same for a whole pack is written once; a branch that differs between elements is written for each in turn.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from lend.diagnostics.records import dataclass
from lend.ir.typed import Call, For, If, Load, Operation, Region, Store, Value
from lend.language.types import ScalarType
from lend.lower.aliases import Aliases
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.control import checked_count, enter_loop, open_carried, open_counter, types_of
from lend.lower.device.abi import DeviceAbi
from lend.lower.device.region import KernelWriter
from lend.lower.indexing import add, literal, multiply, subtract
from lend.lower.regions import Axis
from lend.lower.values import Lowered
from lend.lower.writer import FunctionWriter
from lend.plan.packs import Packs
from lend.plan.regions import DeviceRegion


@dataclass(frozen=True)
class Division:
    """How a row is divided up, as operands: iterations before the first whole pack, whole packs, all threads that it needs."""

    before: str
    packs: str
    threads: str


def divided(builder: FunctionBuilder, axis: Axis, elements: int) -> Division:
    """A row: each whole pack has a thread, and each iteration that is in none. Whole packs begin at multiples of `elements`."""
    low = literal(axis.lower)
    if low is None:
        before = builder.emit(f"and i64 {subtract(builder, '0', axis.lower)}, {elements - 1}")
    else:
        before = str(-low % elements)
    if before != "0":
        fewer = builder.emit(f"icmp slt i64 {axis.count}, {before}")
        before = builder.emit(f"select i1 {fewer}, i64 {axis.count}, i64 {before}")
    left = subtract(builder, axis.count, before)
    packs = builder.emit(f"lshr i64 {left}, {elements.bit_length() - 1}")
    rest = builder.emit(f"and i64 {left}, {elements - 1}")
    return Division(before, packs, add(builder, add(builder, packs, before), rest))


class PackWriter(KernelWriter):
    """One kernel of packs being written. It cannot fault and reduces nothing."""

    def __init__(
        self,
        host: FunctionWriter,
        region: DeviceRegion,
        packs: Packs,
        axes: list[Axis],
        module: ModuleBuilder,
        aliases: Aliases,
        abi: DeviceAbi,
    ) -> None:
        super().__init__(host, region, ("null", "0"), axes, None, module, aliases, abi, "0")
        self._kernel = self.name = f"{self._kernel}_packs"
        self._packs = packs
        self._elements: list[dict[Value, Lowered]] = []
        """What the values of each element's iteration are."""
        self._element: int | None = None
        """The one whose operation is being written, if it belongs to a pack."""
        self._operation: Operation | None = None

    def extents(self) -> list[str]:
        """Along the last dimension there are as many threads as packs, and iterations that are in none."""
        return [divided(self.builder, self.axes[-1], self._packs.elements).threads, *super().extents()[1:]]

    def at_place(self, outer: list[str], place: str) -> None:
        """A whole pack; or, for the last threads of a row, an iteration before the packs or behind them."""
        builder, length = self.builder, self._packs.elements
        row = divided(builder, self.axes[-1], length)
        pack, one, after = (builder.new_block(hint) for hint in ("pack", "one", "after"))
        builder.branch(builder.emit(f"icmp ult i64 {place}, {row.packs}"), pack, one)
        builder.open(pack)
        first = add(builder, multiply(builder, place, str(length)), row.before)
        self.places.moved(first, place, row.before, length)
        self._pack(outer, first)
        # Or else LLVM would take one element's store out of the pack, and do it together with that of single iterations.
        builder.module.declare("llvm.sideeffect", "declare void @llvm.sideeffect()")
        builder.append("call void @llvm.sideeffect()")
        builder.jump(after)
        builder.open(one)
        number = subtract(builder, place, row.packs)
        behind = add(builder, number, multiply(builder, row.packs, str(length)))
        if row.before != "0":
            early = builder.emit(f"icmp slt i64 {number}, {row.before}")
            behind = builder.emit(f"select i1 {early}, i64 {number}, i64 {behind}")
        self.iterate([*outer, behind])
        builder.jump(after)
        builder.open(after)

    def _pack(self, outer: list[str], first: str) -> None:
        """The body for all elements of a pack."""
        indices = [self.index(axis, counter) for axis, counter in zip(self.axes[:-1], outer, strict=True)]
        start = add(self.builder, self.axes[-1].lower, first)
        if start != first:
            self.places.moved(start, first, self.axes[-1].lower)
        before = self.values
        self._elements = [dict(before) for _ in range(self._packs.elements)]
        for number in self._each():
            index = add(self.builder, start, str(number))
            self.facts.sums[index] = ("add", start, str(number))
            self.bind_all(self.body.parameters, [*indices, index])
        self._together(self.body)
        self.values, self._elements = before, []

    # ------------------------------------------------------------------------------------------- elements

    def _each(self) -> Iterator[int]:
        """The elements, one after the other, each with its own values in force."""
        for number in range(len(self._elements)):
            with self._at(number):
                yield number

    @contextmanager
    def _at(self, number: int) -> Generator[None]:
        self.values, self._element = self._elements[number], number
        yield
        self._element = None

    def _of_all(self, values: tuple[Value, ...]) -> list[Lowered]:
        """What values are, element by element."""
        return [table[value] for table in self._elements for value in values]

    def _bind_for_all(self, values: tuple[Value, ...], lowered: list[Lowered]) -> None:
        """The inverse."""
        for number in self._each():
            self.bind_all(values, lowered[number * len(values) : (number + 1) * len(values)])

    def before(self, operation: Operation) -> None:
        """Which operation it is that reads or writes."""
        self._operation = operation

    def read(self, type: ScalarType, pointer: str, align: int, metadata: str) -> str:
        """An element's value; its neighbours' addresses are known to be beside it."""
        return super().read(type, pointer, max(align, self._alignment(type)), metadata)

    def write_element(self, type: ScalarType, value: str, pointer: str, align: int, metadata: str) -> None:
        """Change an element."""
        super().write_element(type, value, pointer, max(align, self._alignment(type)), metadata)

    def _alignment(self, type: ScalarType) -> int:
        if self._element is None or not isinstance(self._operation, Load | Store):
            return 1
        return self._packs.alignment(self._operation, self._element, type.bytes)

    # ------------------------------------------------------------------------------------------- in lockstep

    def _together(self, region: Region) -> list[Lowered]:
        """Each operation of a region for all elements; gives what it yields, element by element."""
        for operation in region.operations:
            match operation:
                case For():
                    self._for(operation)
                case If() if self._packs.shared(operation.condition):
                    self._if(operation)
                case Call():
                    self._bind_for_all(operation.body.parameters, self._of_all(operation.arguments))
                    self._bind_for_all(operation.results, self._together(operation.body))
                case _ if operation.results and not operation.regions and all(map(self._packs.shared, operation.results)):
                    self._once(operation)
                case _:
                    for _ in self._each():
                        self.before(operation)
                        self.operations[type(operation)](self, operation)
        return self._of_all(region.yields)

    def _once(self, operation: Operation) -> None:
        """What is the same for all elements; no claim is made about where it lies."""
        with self._at(0):
            self._element = None
            self.before(operation)
            self.operations[type(operation)](self, operation)
            found = [self.get(result) for result in operation.results]
        self._bind_for_all(operation.results, found * len(self._elements))

    def _if(self, operation: If) -> None:
        """A branch that all elements take alike."""
        builder, results = self.builder, operation.results
        then, orelse, after = (builder.new_block(hint) for hint in ("then", "else", "after"))
        with self._at(0):
            condition = self.scalar(operation.condition)
        builder.branch(condition, then, orelse)
        arms: list[tuple[list[Lowered], str]] = []
        for block, region in ((then, operation.then), (orelse, operation.orelse)):
            builder.open(block)
            yields = self._together(region)
            arms.append((yields, builder.block))
            builder.jump(after)
        builder.open(after)
        self._bind_for_all(results, self.merge(types_of(results) * len(self._elements), arms))

    def _for(self, operation: For) -> None:
        """A loop that runs equally often for all elements, which it carries side by side."""
        builder, count_of = self.builder, len(self._elements)
        types = types_of(operation.results) * count_of
        extent, inits = operation.extent, self._of_all(operation.inits)
        with self._at(0):
            uppers = [self.scalar(value) for value in (extent.lower, extent.upper, extent.step)]
            count = checked_count(self, uppers[0], uppers[1], uppers[2], operation.site)
        if literal(count) == 0:
            self._bind_for_all(operation.results, inits)
            return
        body, after = builder.new_block("loop"), builder.new_block("after")
        before = builder.block
        enter_loop(builder, count, body, after)
        counter, bumped, close_counter = open_counter(builder, "0", before)
        carried = open_carried(self, types, inits, before)
        self._bind_indices(operation, counter)
        self._bind_for_all(operation.body.parameters[1:], carried.values)
        yields = self._together(operation.body)
        stop: list[Lowered] = []
        if operation.stops:
            each = len(operation.body.yields)
            stop = yields[:1]
            yields = [value for position, value in enumerate(yields) if position % each]
        end = builder.block
        carried.close(yields, end)
        close_counter(end)
        self.between_iterations(types, operation.body)
        builder.append(f"{bumped} = add nuw i64 {counter}, 1")
        done = builder.emit(f"icmp eq i64 {bumped}, {count}")
        if stop:
            done = builder.emit(f"or i1 {done}, {stop[0]}")
        builder.branch(done, after, body, properties=self.properties(operation))
        builder.open(after)
        left = [(yields, end)]
        self._bind_for_all(operation.results, self.merge(types, left if literal(count) else [(inits, before), *left]))

    def _bind_indices(self, operation: For, counter: str) -> None:
        """The loop's index, which may begin elsewhere for each element."""
        for _ in self._each():
            lower, step = self.scalar(operation.extent.lower), self.scalar(operation.extent.step)
            index = add(self.builder, lower, multiply(self.builder, counter, step))
            self.bind(operation.body.parameters[0], index)
