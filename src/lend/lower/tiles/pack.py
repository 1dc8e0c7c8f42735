"""A pack of iterations being written: what each value is in each of them.

Does: hold the operands of values per place of a tile, write operations once for all iterations that share them, keep masks.
Does not: memory (`memory.py`), branches and loops (`control.py`), loops over tiles (`loops.py`).
Invariants: a value that does not vary along a dimension has one operand for all places along it. Where masks are on, an operation
that could do harm (a memory access, an integer division) happens only for iterations that are there.

A *place* is a vector of the tile: per dimension of the box the row within the tile, for the vector dimension the vector's number.
An operand is a scalar where the value is the same in all lanes or grows evenly (then it is the first lane's), else a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

from lend.diagnostics.errors import InternalError
from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.lower import memory, scalars
from lend.lower.arithmetic import register_type
from lend.lower.tiles.widen import spread, vector_type, wide_emitter
from lend.lower.values import ArrayValue, Lowered
from lend.lower.writer import FunctionWriter
from lend.plan.tiling import Tiling
from lend.plan.variation import Variation, Variations

if TYPE_CHECKING:
    from collections.abc import Generator

    from lend.lower.regions import RegionWriter

Place = tuple[int, ...]

SIMPLE: Mapping[type, Callable[[Any, Any], None]] = {
    typed.Constant: scalars.write_constant,
    typed.Unary: scalars.write_unary,
    typed.Binary: scalars.write_binary,
    typed.Math: scalars.write_math,
    typed.Cast: scalars.write_cast,
    typed.Size: memory.write_size,
    typed.View: memory.write_view,
}
"""What is written for vectors just as for scalars."""


class PackWriter(FunctionWriter):
    """Writes a loop body for all places of a tile at once, into the open block of a region."""

    ends_at_fault = False

    def __init__(self, region: RegionWriter, tiling: Tiling, variations: Variations, rows: tuple[int, ...], vectors: int) -> None:
        super().__init__(region.builder.module, region.kernel, region.aliases, region.shapes)
        self.builder = region.builder
        self.facts = region.facts
        self.region = region
        self.variations = variations
        self.vector_dimension = tiling.vector
        self.lanes = tiling.lanes
        self.narrow = self.scalars = region.scalars
        self.wide = wide_emitter(region.scalars, tiling.lanes)
        counts = [vectors if d == tiling.vector else count for d, count in enumerate(rows)]
        self.places: list[Place] = list(product(*(range(count) for count in counts)))
        self.place = self.places[0]
        self.masks: dict[Place, str] = {}
        """The iterations that are there, per place; none: all of them."""
        self.edge: str | None = None
        """The mask at the end of a row, if this is one: its first lane is on."""
        self.certain = True
        """Whether every place is known to hold at least one iteration that is there."""
        self.gathers: frozenset[typed.Operation] = frozenset()
        """Loads that stay apart from arithmetic: none, since vectors are put together from many."""
        self.streaming: frozenset[typed.Operation] = frozenset()
        """Stores that go past the caches; their places are aligned."""
        self.loop_properties: tuple[str, ...] = ()
        """What LLVM is told of loops in the body."""
        self._bound: dict[Value, dict[Place, Lowered]] = {}
        self._is_wide = False
        self._broadcasts: dict[tuple[str, str], str] = {}

    # ------------------------------------------------------------------------------------------- values

    def key(self, variation: Variation, place: Place) -> Place:
        """The place that stands for all those with the same value."""
        return tuple(0 if entry == 0 else at for entry, at in zip(variation, place, strict=True))

    def classes(self, variation: Variation) -> list[Place]:
        """One place for each operand of a value with this variation."""
        return list(dict.fromkeys(self.key(variation, place) for place in self.places))

    def members(self, variation: Variation, place: Place) -> list[Place]:
        """All places with the same operand as `place`."""
        key = self.key(variation, place)
        return [other for other in self.places if self.key(variation, other) == key]

    def is_vector(self, variation: Variation) -> bool:
        """Whether values of this variation are vectors."""
        return self.lanes > 1 and variation[self.vector_dimension] is None

    def bind(self, value: Value, lowered: Lowered) -> None:
        """Say what `value` is at the current place, and all that share it."""
        self._bound.setdefault(value, {})[self.key(self.variations.of(value), self.place)] = lowered

    def get(self, value: Value) -> Lowered:
        """The operand at the current place; while vectors are written, a vector or a literal."""
        lowered = self.operand(value, self.place)
        if self._is_wide and isinstance(lowered, str):
            return self.vector(value, self.place)
        return lowered

    def operand(self, value: Value, place: Place) -> Lowered:
        """What `value` is at a place: a scalar, the first lane's, or a vector."""
        if value in self._bound:
            return self._bound[value][self.key(self.variations.of(value), place)]
        return self.region.get(value)

    def text(self, value: Value, place: Place) -> str:
        """`operand`, of a scalar value."""
        lowered = self.operand(value, place)
        assert isinstance(lowered, str)
        return lowered

    def vector(self, value: Value, place: Place) -> str:
        """A value in all lanes: a vector, or a literal, which each instruction spreads."""
        operand, entry = self.text(value, place), self.variations.of(value)[self.vector_dimension]
        if entry is None:
            return operand
        type = register_type(value.scalar)
        if entry == 0:
            return operand if not operand.startswith("%") else self.broadcast(type, operand)
        apart = 0
        if value in self.region.body.parameters:  # an index: one broadcast for all vectors side by side
            number = place[self.vector_dimension]
            first = tuple(0 if d == self.vector_dimension else at for d, at in enumerate(place))
            operand, apart = self.text(value, first), number * self.lanes * entry
        steps = ", ".join(f"i64 {apart + lane * entry}" for lane in range(self.lanes))
        return self.builder.emit(f"add <{self.lanes} x i64> {spread(self.lanes, 'i64', self._named(operand))}, <{steps}>")

    def _named(self, operand: str) -> str:
        return self.broadcast("i64", operand) if operand.startswith("%") else operand

    def broadcast(self, type: str, operand: str) -> str:
        """A scalar in every lane."""
        if not operand.startswith("%"):
            return spread(self.lanes, type, operand)
        known = self._broadcasts.get((self.builder.block, operand))
        if known is None:
            vector = vector_type(self.lanes, type)
            first = self.builder.emit(f"insertelement {vector} poison, {type} {operand}, i64 0")
            known = self.builder.emit(f"shufflevector {vector} {first}, {vector} poison, <{self.lanes} x i32> zeroinitializer")
            self._broadcasts[self.builder.block, operand] = known
        return known

    def register(self, type: str, variation: Variation) -> str:
        """The LLVM type of an operand."""
        return vector_type(self.lanes, type) if self.is_vector(variation) else type

    def shaped(self, value: Value, variation: Variation, place: Place) -> str:
        """The operand of `value` as one of a value with `variation`, which varies at least as much: for phis and selects."""
        if not self.is_vector(variation):
            return self.text(value, place)
        return spread(self.lanes, register_type(value.scalar), self.vector(value, place))

    def alias(self, name: Value, value: Value) -> None:
        """`name` is `value`, from which it has its variation."""
        self._bound[name] = {key: self.operand(value, key) for key in self.classes(self.variations.of(value))}

    def bind_shaped(self, value: Value, operands: Mapping[Place, str]) -> None:
        """Bind all classes of a value."""
        self._bound[value] = dict(operands)

    @contextmanager
    def writing(self, place: Place, wide: bool) -> Generator[None]:
        """Scalar writers write here, vectors if `wide`."""
        self.place, self._is_wide = place, wide
        self.scalars = self.wide if wide else self.narrow
        yield
        self._is_wide, self.scalars = False, self.narrow

    # ------------------------------------------------------------------------------------------- masks

    @contextmanager
    def masked(self, masks: dict[Place, str], certain: bool = False) -> Generator[None]:
        """With other masks."""
        before = self.masks, self.certain
        self.masks, self.certain = masks, certain
        yield
        self.masks, self.certain = before

    def mask(self, places: Iterable[Place]) -> str | None:
        """The lanes in which any of the places holds an iteration; None: all."""
        if not self.masks:
            return None
        return self.either(f"<{self.lanes} x i1>", [self.masks[place] for place in places])

    def either(self, type: str, operands: Iterable[str]) -> str:
        """The disjunction."""
        found, *rest = dict.fromkeys(operands)
        for operand in rest:
            found = self.builder.emit(f"or {type} {found}, {operand}")
        return found

    def both(self, mask: str | None, condition: str) -> str:
        """The conjunction of two masks."""
        return condition if mask is None else self.builder.emit(f"and <{self.lanes} x i1> {mask}, {condition}")

    def inverse(self, condition: str) -> str:
        """The lanes where a mask is off."""
        return self.builder.emit(f"xor <{self.lanes} x i1> {condition}, splat (i1 true)")

    def one(self) -> str:
        """The metadata of a streaming store."""
        return self.builder.module.metadata("!{i32 1}")

    def any(self, masks: Iterable[str]) -> str:
        """An i1: whether any lane is on."""
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        self.builder.module.declare(name, f"declare i1 @{name}(<{self.lanes} x i1>)")
        return self.builder.emit(f"call i1 @{name}(<{self.lanes} x i1> {self.either(f'<{self.lanes} x i1>', masks)})")

    # ------------------------------------------------------------------------------------------- operations

    def run(self, region: Region) -> list[Lowered]:
        """Write the operations of a region; what it yields is then bound."""
        for operation in region.operations:
            self.operations[type(operation)](self, operation)
        return []


def write_simple(pack: PackWriter, operation: Any) -> None:
    """Operations without effects and dangers."""
    variation = pack.variations.of(operation.result)
    for place in pack.classes(variation):
        with pack.writing(place, pack.is_vector(variation)):
            SIMPLE[type(operation)](pack, operation)


def write_binary(pack: PackWriter, operation: typed.Binary) -> None:
    """An operator; where iterations may be missing, integers are not divided by what stands in their lanes."""
    divides = operation.operator in ("floordiv", "mod") and operation.left.scalar.is_integer
    if not divides or not pack.masks or pack.variations.constant(operation.right) not in (None, 0):
        write_simple(pack, operation)
        return
    variation, type = pack.variations.of(operation.result), operation.left.scalar
    name = register_type(type)
    for place in pack.classes(variation):
        wide = pack.is_vector(variation)
        mask = pack.mask(pack.members(variation, place))
        assert mask is not None
        with pack.writing(place, wide):
            left, right = pack.scalar(operation.left), pack.scalar(operation.right)
            if wide:
                vector = vector_type(pack.lanes, name)
                one, divisor = spread(pack.lanes, name, "1"), spread(pack.lanes, name, right)
                right = pack.builder.emit(f"select <{pack.lanes} x i1> {mask}, {vector} {divisor}, {vector} {one}")
            elif not pack.certain:
                right = pack.builder.emit(f"select i1 {pack.any([mask])}, {name} {right}, {name} 1")
            pack.bind(operation.result, pack.scalars.binary(operation.operator, type, left, right))


def write_call(pack: PackWriter, operation: typed.Call) -> None:
    """A device function, in place."""
    for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
        pack.alias(parameter, argument)
    pack.run(operation.body)
    for result, value in zip(operation.results, operation.body.yields, strict=True):
        pack.alias(result, value)


def array_at(pack: PackWriter, value: Value, place: Place) -> ArrayValue:
    """The descriptor of an array at a place."""
    lowered = pack.operand(value, place)
    if not isinstance(lowered, ArrayValue):
        raise InternalError("an array is a scalar", value.span)
    return lowered


OPERATIONS: dict[type, Callable[[Any, Any], None]] = {
    **dict.fromkeys(SIMPLE, write_simple),
    typed.Binary: write_binary,
    typed.Call: write_call,
}
"""`memory.py` and `control.py` add theirs."""
PackWriter.operations = OPERATIONS
