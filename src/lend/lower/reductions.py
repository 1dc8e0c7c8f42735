"""Reductions -> LLVM: lanes, blocks, and the tree above them.

Does: combine values; keep the 64 lanes of a block in stack memory, fold them into the block's partial result, and write the
function that folds the partials.  Does not: run the loop body (`regions.py`) or launch (`host.py`).
Invariants: the order of combination is the one of `language/reduction.py`, a function of the row-major position alone; adds and
multiplications here are strict, whatever the kernel's math mode, so that LLVM keeps that order and fuses nothing into it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lend.diagnostics.records import dataclass
from lend.ir.typed import BinaryOperator, Parallel
from lend.language.reduction import LANES, identity
from lend.language.types import BF16, F16, F32, ScalarType, alignment_of
from lend.lower.arithmetic import ScalarEmitter, memory_type, register_type
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.control import counted_loop
from lend.lower.folds import Group, LaneVectors, foldable
from lend.lower.indexing import add, multiply, offset
from lend.lower.tiles.widen import WideBuilder
from lend.lower.writer import FunctionWriter

PARTIAL_BYTES = 16
"""What each value of a partial result takes in memory."""


@dataclass(frozen=True)
class Component:
    """One value of one reduction: its type, the operator, the operator's identity."""

    type: ScalarType
    operator: BinaryOperator

    @property
    def storage(self) -> ScalarType:
        """What it is kept as between iterations: f16 and bf16 as they are in registers."""
        return F32 if self.type in (F16, BF16) else self.type

    @property
    def alignment(self) -> int:
        """The alignment in memory."""
        return alignment_of(self.storage)


class Reducer:
    """The reductions of one parallel loop, their values in a row."""

    def __init__(self, parallel: Parallel, located: tuple[bool, ...] = ()) -> None:
        self.groups: list[Group] = [
            (reduction.operator, [value.scalar for value in reduction.inits]) for reduction in parallel.reductions
        ]
        self.components = [Component(type, operator) for operator, types in self.groups for type in types]
        self.located = located or (False,) * len(self.groups)
        """Whether each takes pairs of something and the index, which grows from step to step of a lane (`plan/located.py`)."""
        self.partial_bytes = PARTIAL_BYTES * len(self.components)

    def identities(self, scalars: ScalarEmitter) -> list[str]:
        """The operands that each iteration's reduction parameters start from."""
        return [scalars.constant(component.type, identity(component.operator, component.type)) for component in self.components]

    def combine(self, builder: FunctionBuilder, left: list[str], right: list[str], following: bool = False) -> list[str]:
        """`left op right`, for every reduction; `following`: every lane of `left` has met an iteration, all before `right`'s."""
        strict = ScalarEmitter(builder, "strict")
        out: list[str] = []
        for (operator, types), located in zip(self.groups, self.located, strict=True):
            a, b = left[len(out) : len(out) + len(types)], right[len(out) : len(out) + len(types)]
            if len(types) == 1:
                out.append(strict.binary(operator, types[0], a[0], b[0]))
            else:
                out += _lexicographic(strict, operator, types, a, b, located and following)
        return out

    # ------------------------------------------------------------------------------------------- partials

    def load_partial(self, builder: FunctionBuilder, partials: str, number: str) -> list[str]:
        """The values of partial result `number`."""
        strict = ScalarEmitter(builder, "strict")
        places = self._places(builder, partials, number)
        return [strict.load(component.storage, place, 8) for component, place in zip(self.components, places, strict=True)]

    def store_partial(self, builder: FunctionBuilder, partials: str, number: str, values: list[str]) -> None:
        """Write partial result `number`."""
        strict = ScalarEmitter(builder, "strict")
        places = self._places(builder, partials, number)
        for component, place, value in zip(self.components, places, values, strict=True):
            strict.store(component.storage, value, place, 8)

    def _places(self, builder: FunctionBuilder, partials: str, number: str) -> list[str]:
        first = offset(builder, partials, multiply(builder, number, str(self.partial_bytes)))
        return [offset(builder, first, str(PARTIAL_BYTES * k)) for k in range(len(self.components))]


class Lanes:
    """The 64 lanes of the block that a region is in, in the region's stack memory."""

    def __init__(self, writer: FunctionWriter, reducer: Reducer) -> None:
        self._writer = writer
        self._reducer = reducer
        self._arrays = [
            writer.builder.alloca(f"[{LANES} x {memory_type(component.storage)}]", "lanes", 64)
            for component in reducer.components
        ]
        self._vectors = self._whole()

    def _whole(self) -> list[LaneVectors] | None:
        """The lanes as vectors; None where they are not combined so."""
        if not foldable(self._reducer.groups):
            return None
        strict, arrays = ScalarEmitter(self._writer.builder, "strict"), iter(self._arrays)
        return [
            LaneVectors(strict, group, [next(arrays) for _ in group[1]], self._writer.aliases.lanes)
            for group in self._reducer.groups
        ]

    def clear(self) -> None:
        """Every lane starts from the identity."""
        if self._vectors is not None:
            for vectors in self._vectors:
                vectors.clear()
            return
        identities = self._reducer.identities(self._writer.scalars)
        counted_loop(self._writer, "0", str(LANES), lambda lane: self._store(lane, identities), "lane")

    @property
    def components(self) -> list[Component]:
        """What the lanes hold."""
        return self._reducer.components

    @property
    def located(self) -> bool:
        """Whether it is worth while to know that lanes are `following`."""
        return any(self._reducer.located)

    def accumulate(self, lane: str, values: list[str]) -> None:
        """`lane = lane op values`."""
        self._store(lane, self._reducer.combine(self._writer.builder, self._load(lane), values))

    def accumulate_vectors(self, width: int, slots: list[str], values: list[str], mask: str | None, following: bool) -> None:
        """The same for `width` lanes that lie together, in memory or in vectors of their own (`slots`), where the mask is on.

        `following`: each of these lanes has met an iteration before.
        """
        builder, metadata = self._writer.builder, self._writer.aliases.lanes
        wide = WideBuilder(builder, width)
        old: list[str] = []
        for component, slot in zip(self.components, slots, strict=True):
            raw = f"<{width} x {memory_type(component.storage)}>"
            value = builder.emit(f"load {raw}, ptr {slot}, align {component.alignment}{metadata}")
            old.append(builder.emit(f"icmp ne {raw} {value}, zeroinitializer") if component.type.kind == "bool" else value)
        new = self._reducer.combine(wide, old, values, following)
        for component, slot, before, after in zip(self.components, slots, old, new, strict=True):
            vector = f"<{width} x {register_type(component.storage)}>"
            if mask is not None:
                after = builder.emit(f"select <{width} x i1> {mask}, {vector} {after}, {vector} {before}")
            raw = f"<{width} x {memory_type(component.storage)}>"
            if component.type.kind == "bool":
                after = builder.emit(f"zext {vector} {after} to {raw}")
            builder.append(f"store {raw} {after}, ptr {slot}, align {component.alignment}{metadata}")

    def after(self, width: int, value: str, slot: str, nothing: str) -> str:
        """The same vector, once the one in a slot is there: with none of its bits added."""
        builder, (component,) = self._writer.builder, self.components
        float_vector, bits = f"<{width} x {register_type(component.storage)}>", 8 * component.storage.bytes
        vector = f"<{width} x i{bits}>"
        other = builder.emit(f"load {vector}, ptr {slot}, align {component.alignment}{self._writer.aliases.lanes}")
        zero = nothing if bits == 64 else builder.emit(f"trunc i64 {nothing} to i{bits}")
        first = builder.emit(f"insertelement {vector} poison, i{bits} {zero}, i64 0")
        zeros = builder.emit(f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer")
        none = builder.emit(f"and {vector} {other}, {zeros}")
        whole = builder.emit(f"or {vector} {builder.emit(f'bitcast {float_vector} {value} to {vector}')}, {none}")
        return builder.emit(f"bitcast {vector} {whole} to {float_vector}")

    def slots(self, lane: str) -> list[str]:
        """Where a lane of each value lies."""
        return self._places(lane)

    def copy_in(self, width: int, vectors: list[list[str]]) -> None:
        """Take over lanes from vectors of their own: per vector of `width` lanes, its slots."""
        for place, slot, component in self._pairs(width, vectors):
            self._copy(width, component, slot, place)

    def copy_out(self, width: int, vectors: list[list[str]]) -> None:
        """Hand lanes back to vectors of their own."""
        for place, slot, component in self._pairs(width, vectors):
            self._copy(width, component, place, slot)

    def _pairs(self, width: int, vectors: list[list[str]]) -> Iterator[tuple[str, str, Component]]:
        """Where `width` lanes of a value lie, their slot, and what they are."""
        for number, slots in enumerate(vectors):
            yield from zip(self._places(str(number * width)), slots, self.components, strict=True)

    def _copy(self, width: int, component: Component, source: str, target: str) -> None:
        builder, metadata = self._writer.builder, self._writer.aliases.lanes
        raw = f"<{width} x {memory_type(component.storage)}>"
        value = builder.emit(f"load {raw}, ptr {source}, align {component.alignment}{metadata}")
        builder.append(f"store {raw} {value}, ptr {target}, align {component.alignment}{metadata}")

    def identities(self) -> list[str]:
        """What each iteration's own part starts from."""
        return self._reducer.identities(self._writer.scalars)

    def vector_slots(self, width: int) -> list[str]:
        """Memory for `width` lanes of each value, which becomes a register."""
        return [
            self._writer.builder.alloca(f"<{width} x {memory_type(component.storage)}>", "lanes", 64)
            for component in self.components
        ]

    def clear_vectors(self, width: int, vectors: list[list[str]]) -> None:
        """Vectors of their own start from the identity."""
        for slots in vectors:
            for component, slot, value in zip(
                self.components, slots, self._reducer.identities(self._writer.scalars), strict=True
            ):
                element = memory_type(component.storage)
                value = {"true": "1", "false": "0"}.get(value, value) if component.type.kind == "bool" else value
                self._writer.builder.append(
                    f"store <{width} x {element}> splat ({element} {value}), ptr {slot}, align {component.alignment}"
                    f"{self._writer.aliases.lanes}"
                )

    def fold(self, apart: bool = False) -> list[str]:
        """The block's partial result: lanes folded in halves. `apart`: by a function, where that takes much code."""
        if apart and self._vectors is not None and any(len(types) > 1 for _, types in self._reducer.groups):
            return self._folded_apart()
        if self._vectors is not None:
            return [value for vectors in self._vectors for value in vectors.fold()]
        width = LANES // 2
        while width:
            half = width

            def fold_lane(lane: str) -> None:
                other = add(self._writer.builder, lane, str(half))  # noqa: B023  (called at once)
                self.accumulate(lane, self._load(other))

            counted_loop(self._writer, "0", str(width), fold_lane, "lane")
            width //= 2
        return self._load("0")

    def _folded_apart(self) -> list[str]:
        """The same by a function, which all loops of the module that reduce alike share: to compare tuples takes much code."""
        builder, groups = self._writer.builder, self._reducer.groups
        module = builder.module
        words = [f"{operator}.{'.'.join(type.name for type in types)}" for operator, types in groups]
        name = f"fold_lanes.{'.'.join(words)}"
        parameters = [f"ptr %lanes.{k}" for k in range(len(self._arrays))]
        whole = f"{{ {', '.join(register_type(component.storage) for component in self.components)} }}"
        if not module.declared(name):
            inner = FunctionBuilder(module)
            strict, arrays = ScalarEmitter(inner, "strict"), iter(parameters)
            values = [
                value
                for group in groups
                for value in LaneVectors(strict, group, [next(arrays).removeprefix("ptr ") for _ in group[1]], "").fold()
            ]
            result = "poison"
            for k, (component, value) in enumerate(zip(self.components, values, strict=True)):
                result = inner.emit(f"insertvalue {whole} {result}, {register_type(component.storage)} {value}, {k}")
            inner.ret(f"{whole} {result}")
            head = f"define internal {whole} @{name}({', '.join(parameters)}) noinline nounwind memory(argmem: read)"
            module.declare(name, f"{head} {{\n{inner.body()}\n}}")
        found = builder.emit(f"call {whole} @{name}({', '.join(f'ptr {array}' for array in self._arrays)})")
        return [builder.emit(f"extractvalue {whole} {found}, {k}") for k in range(len(self._arrays))]

    def _places(self, lane: str) -> list[str]:
        builder = self._writer.builder
        return [
            offset(builder, array, multiply(builder, lane, str(component.storage.bytes)))
            for array, component in zip(self._arrays, self._reducer.components, strict=True)
        ]

    def _load(self, lane: str) -> list[str]:
        places = self._places(lane)
        return [
            self._writer.scalars.load(component.storage, place, component.alignment, self._writer.aliases.lanes)
            for component, place in zip(self._reducer.components, places, strict=True)
        ]

    def _store(self, lane: str, values: list[str]) -> None:
        for component, place, value in zip(self._reducer.components, self._places(lane), values, strict=True):
            self._writer.scalars.store(component.storage, value, place, component.alignment, self._writer.aliases.lanes)


def _lexicographic(
    strict: ScalarEmitter,
    operator: BinaryOperator,
    types: list[ScalarType],
    left: list[str],
    right: list[str],
    rising: bool = False,
) -> list[str]:
    """The smaller (or larger) of two tuples; the left one where they are equal. `rising`: the last of `right` is larger."""
    emit = strict.builder.emit
    *front, last = zip(types, left, right, strict=True)
    take = ("true" if operator == "max" else "false") if rising else _compare(strict, operator, *last)[0]
    for type, a, b in reversed(front):
        better, same = _compare(strict, operator, type, a, b)
        later = {"true": same, "false": "false"}.get(take) or emit(f"and i1 {same}, {take}")
        take = better if later == "false" else emit(f"or i1 {better}, {later}")
    return [strict.select(type, take, b, a) for type, a, b in zip(types, left, right, strict=True)]


def _compare(strict: ScalarEmitter, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> tuple[str, str]:
    """Whether `b` comes before `a`, and whether they are equal; a NaN comes before every number and equals a NaN."""
    emit, name = strict.builder.emit, register_type(type)
    if not type.is_float:
        return strict.binary("lt" if operator == "min" else "gt", type, b, a), strict.binary("eq", type, a, b)
    a_number = emit(f"fcmp ord {name} {a}, {a}")
    before = emit(f"fcmp {'ult' if operator == 'min' else 'ugt'} {name} {b}, {a}")
    better = emit(f"and i1 {before}, {a_number}")
    equal = emit(f"fcmp oeq {name} {a}, {b}")
    b_nan = emit(f"fcmp uno {name} {b}, {b}")
    a_nan = emit(f"xor i1 {a_number}, true")
    both = emit(f"and i1 {a_nan}, {b_nan}")
    return better, emit(f"or i1 {equal}, {both}")


def define_fold(module: ModuleBuilder, reducer: Reducer, name: str) -> None:
    """Write `void @name(ptr partials, i64 blocks)`: folds the partials in pairs into the first; an odd last one moves down."""
    builder = FunctionBuilder(module)
    head, level, pair, after = (builder.new_block(hint) for hint in ("head", "level", "pair", "after"))
    odd, carry, rest = (builder.new_block(hint) for hint in ("odd", "carry", "rest"))
    builder.jump(head)
    builder.open(head)
    count, following = builder.fresh("count"), builder.fresh("count")
    builder.append(f"{count} = phi i64 [ %blocks, %entry ], [ {following}, %{rest} ]")
    several = builder.emit(f"icmp ugt i64 {count}, 1")
    builder.branch(several, level, after)
    builder.open(level)
    half = builder.emit(f"lshr i64 {count}, 1")
    builder.jump(pair)
    builder.open(pair)
    k, bumped = builder.fresh("k"), builder.fresh("k")
    builder.append(f"{k} = phi i64 [ 0, %{level} ], [ {bumped}, %{pair} ]")
    first = builder.emit(f"shl i64 {k}, 1")
    second = builder.emit(f"or i64 {first}, 1")
    left, right = (reducer.load_partial(builder, "%partials", number) for number in (first, second))
    reducer.store_partial(builder, "%partials", k, reducer.combine(builder, left, right))
    builder.append(f"{bumped} = add nuw nsw i64 {k}, 1")
    done = builder.emit(f"icmp eq i64 {bumped}, {half}")
    builder.branch(done, odd, pair)
    builder.open(odd)
    lone = builder.emit(f"and i64 {count}, 1")
    is_odd = builder.emit(f"icmp ne i64 {lone}, 0")
    builder.branch(is_odd, carry, rest)
    builder.open(carry)
    last = builder.emit(f"sub i64 {count}, 1")
    reducer.store_partial(builder, "%partials", half, reducer.load_partial(builder, "%partials", last))
    builder.jump(rest)
    builder.open(rest)
    builder.append(f"{following} = add i64 {half}, {lone}")
    builder.jump(head)
    builder.open(after)
    builder.ret("void")
    module.add_function(
        f"define internal void @{name}(ptr %partials, i64 %blocks) noinline optsize nounwind {{\n{builder.body()}\n}}"
    )
