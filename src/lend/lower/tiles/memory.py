"""Memory accesses of a pack: whole vectors where lanes are neighbours, single elements where they share one, else lane by lane.

Does: loads and stores under masks.  Does not: test subscripts (tiled loops have none left to test).
Invariants: what a mask leaves out is neither read nor written. Reads that several iterations share happen once.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import BF16, F16, ScalarType
from lend.lower import memory, scalar_narrow
from lend.lower.arithmetic import memory_type, register_type
from lend.lower.indexing import add, literal, multiply, offset
from lend.lower.tiles.pack import OPERATIONS, PackWriter, Place, array_at
from lend.lower.tiles.widen import spread, vector_type
from lend.lower.values import ArrayValue
from lend.plan.streams import LINE


@dataclass(frozen=True)
class Spot:
    """Where a vector access goes: `pointer` for lane 0, and `step` bytes from lane to lane (an operand), or any `offsets`."""

    pointer: str
    step: str
    offsets: str | None


def write_load(pack: PackWriter, operation: typed.Load) -> None:
    """`array[indices].path`, once for all places that share the value."""
    variation = pack.variations.of(operation.result)
    for place in pack.classes(variation):
        members = pack.members(variation, place)
        if not pack.is_vector(variation):
            _load_one(pack, operation, place, members)
            continue
        pack.place = place
        pack.bind(operation.result, _load_vector(pack, operation, place, pack.mask(members)))


def write_store(pack: PackWriter, operation: typed.Store) -> None:
    """`array[indices].path = value`, for every place."""
    for place in pack.places:
        if pack.lanes == 1:
            with pack.writing(place, False):
                memory.write_store(pack, operation)
        else:
            _store_vector(pack, operation, place, pack.mask([place]))


def _load_one(pack: PackWriter, operation: typed.Load, place: Place, members: list[Place]) -> None:
    """A value that all lanes share; read only if there is an iteration that reads it."""
    builder = pack.builder
    mask = None if pack.certain else pack.mask(members)
    if mask is None:
        with pack.writing(place, False):
            memory.write_load(pack, operation)
        return
    some, after = builder.new_block("some"), builder.new_block("after")
    before = builder.block
    builder.branch(pack.any([mask]), some, after)
    builder.open(some)
    with pack.writing(place, False):
        memory.write_load(pack, operation)
    value, came = pack.text(operation.result, place), builder.block
    builder.jump(after)
    builder.open(after)
    type = operation.result.scalar
    name = pack.register(register_type(type), pack.variations.of(operation.result))
    pack.bind(operation.result, builder.emit(f"phi {name} [ {value}, %{came} ], [ {pack.zero(type)}, %{before} ]"))


def _spot(pack: PackWriter, array: Value, indices: tuple[Value, ...], path: tuple[int, ...], place: Place) -> Spot:
    """The addresses of an access in the lanes of a place."""
    descriptor, builder, v = array_at(pack, array, place), pack.builder, pack.vector_dimension
    bases: list[str] = []
    step, offsets = "0", None
    for index, stride in zip(indices, descriptor.strides, strict=True):
        entry = pack.variations.of(index)[v]
        if entry is None:
            bases.append("0")
            moved = _times(pack, pack.vector(index, place), stride)
            offsets = moved if offsets is None else builder.emit(f"add <{pack.lanes} x i64> {offsets}, {moved}")
        else:
            bases.append(pack.text(index, place))
            step = add(builder, step, multiply(builder, stride, str(entry)))
    pointer = memory.address(pack, descriptor, bases, path)
    if offsets is not None and step != "0":
        moved = _times(pack, _numbers(pack), step)
        offsets = builder.emit(f"add <{pack.lanes} x i64> {offsets}, {moved}")
    return Spot(pointer, step, offsets)


def _numbers(pack: PackWriter) -> str:
    return "<" + ", ".join(f"i64 {lane}" for lane in range(pack.lanes)) + ">"


def _times(pack: PackWriter, vector: str, factor: str) -> str:
    if literal(factor) == 1:
        return spread(pack.lanes, "i64", vector) if not vector.startswith(("%", "<")) else vector
    name = vector_type(pack.lanes, "i64")
    left = vector if vector.startswith(("%", "<")) else spread(pack.lanes, "i64", vector)
    return pack.builder.emit(f"mul {name} {left}, {pack.broadcast('i64', factor)}")


def _pointers(pack: PackWriter, spot: Spot) -> str:
    """The address of each lane."""
    offsets = spot.offsets if spot.offsets is not None else _times(pack, _numbers(pack), spot.step)
    return pack.builder.emit(f"getelementptr i8, ptr {spot.pointer}, <{pack.lanes} x i64> {offsets}")


def _load_vector(pack: PackWriter, operation: typed.Load, place: Place, mask: str | None) -> str:
    type = operation.result.scalar
    descriptor = array_at(pack, operation.array, place)
    spot = _spot(pack, operation.array, operation.indices, operation.path, place)
    raw = _read(pack, type, descriptor, spot, mask, pack.access(operation.array))
    if type.kind == "bool":
        return pack.builder.emit(f"icmp ne <{pack.lanes} x i8> {raw}, zeroinitializer")
    return scalar_narrow.from_bits(pack.wide, type, raw) if type in (F16, BF16) else raw


def _read(pack: PackWriter, type: ScalarType, array: ArrayValue, spot: Spot, mask: str | None, suffix: str) -> str:
    builder, align = pack.builder, array.alignment(type)
    vector = vector_type(pack.lanes, memory_type(type))
    side = _side(type, spot)
    if side is None and spot.offsets is None and mask is None:
        return _read_apart(pack, type, array, spot, suffix)
    if side is None:
        pointers = _pointers(pack, spot)
        if mask is not None:
            pack.builder.module.declare(NOWHERE, f"{NOWHERE} = private constant [16 x i8] zeroinitializer, align 16")
            pointers = _elsewhere(pack, pointers, mask, NOWHERE)
        return builder.emit(_call(pack, "gather", vector, pointers, align, None) + suffix)
    pointer, turned = _first(pack, type, spot, side), side < 0
    if mask is None:
        raw = builder.emit(f"load {vector}, ptr {pointer}, align {align}{suffix}")
    else:
        mask = _turned(pack, f"<{pack.lanes} x i1>", mask) if turned else mask
        raw = builder.emit(_call(pack, "load", vector, pointer, align, mask) + suffix)
    return _turned(pack, vector, raw) if turned else raw


NOWHERE = "@lend.nowhere"
"""What lanes read that are off."""


def _elsewhere(pack: PackWriter, pointers: str, mask: str, instead: str) -> str:
    """The addresses of lanes that are on, and `instead` for the others.

    So no lane needs a branch of its own, as processors without fast masked gathers would have it.
    """
    vector = vector_type(pack.lanes, "ptr")
    instead = pack.broadcast("ptr", instead) if instead.startswith("%") else f"splat (ptr {instead})"
    return pack.builder.emit(f"select <{pack.lanes} x i1> {mask}, {vector} {pointers}, {vector} {instead}")


def _read_apart(pack: PackWriter, type: ScalarType, array: ArrayValue, spot: Spot, suffix: str) -> str:
    """Elements at even distances, one by one: their addresses need no vector."""
    builder, element = pack.builder, memory_type(type)
    vector, whole = vector_type(pack.lanes, element), "poison"
    for lane in range(pack.lanes):
        pointer = offset(builder, spot.pointer, multiply(builder, spot.step, str(lane)))
        value = builder.emit(f"load {element}, ptr {pointer}, align {array.alignment(type)}{suffix}")
        whole = builder.emit(f"insertelement {vector} {whole}, {element} {value}, i64 {lane}")
    return whole


def _store_vector(pack: PackWriter, operation: typed.Store, place: Place, mask: str | None) -> None:
    type, builder = operation.value.scalar, pack.builder
    descriptor = array_at(pack, operation.array, place)
    spot = _spot(pack, operation.array, operation.indices, operation.path, place)
    value = pack.vector(operation.value, place)
    if type in (F16, BF16):
        value = scalar_narrow.to_bits(pack.wide, type, value)
    value = spread(pack.lanes, register_type(type), value)
    if type.kind == "bool":
        value = builder.emit(f"zext <{pack.lanes} x i1> {value} to <{pack.lanes} x i8>")
    align, suffix = descriptor.alignment(type), pack.access(operation.array)
    vector = vector_type(pack.lanes, memory_type(type))
    side = _side(type, spot)
    if side is None:
        pointers = _pointers(pack, spot)
        if mask is not None:
            pointers = _elsewhere(pack, pointers, mask, builder.alloca("[16 x i8]", "nowhere", align=16))
        builder.append(_call(pack, "scatter", vector, pointers, align, None, value) + suffix)
        return
    pointer = _first(pack, type, spot, side)
    if side < 0:
        value = _turned(pack, vector, value)
        mask = None if mask is None else _turned(pack, f"<{pack.lanes} x i1>", mask)
    if mask is None and operation in pack.streaming:
        align = min(pack.lanes * type.bytes, LINE)  # the first one of a run begins a line
        builder.append(f"store {vector} {value}, ptr {pointer}, align {align}{suffix}, !nontemporal {pack.one()}")
    elif mask is None:
        builder.append(f"store {vector} {value}, ptr {pointer}, align {align}{suffix}")
    else:
        builder.append(_call(pack, "store", vector, pointer, align, mask, value) + suffix)


def store_address(pack: PackWriter, operation: typed.Store, place: Place) -> str:
    """Where the first lane of a store goes, whose subscripts are written already."""
    return _spot(pack, operation.array, operation.indices, operation.path, place).pointer


def _side(type: ScalarType, spot: Spot) -> int | None:
    """1 if lanes are neighbours in memory, -1 if they are in reverse order, None if they are not."""
    step = literal(spot.step)
    return step // type.bytes if spot.offsets is None and step is not None and abs(step) == type.bytes else None


def _first(pack: PackWriter, type: ScalarType, spot: Spot, side: int) -> str:
    """The lowest address."""
    return spot.pointer if side > 0 else offset(pack.builder, spot.pointer, str(-(pack.lanes - 1) * type.bytes))


def _turned(pack: PackWriter, vector: str, value: str) -> str:
    """Lanes in reverse order."""
    order = ", ".join(f"i32 {lane}" for lane in reversed(range(pack.lanes)))
    return pack.builder.emit(f"shufflevector {vector} {value}, {vector} poison, <{pack.lanes} x i32> <{order}>")


def _call(pack: PackWriter, kind: str, vector: str, pointer: str, align: int, mask: str | None, value: str | None = None) -> str:
    """A masked access: `load` and `store` of neighbours, `gather` and `scatter` of any elements."""
    many = kind in ("gather", "scatter")
    lanes, suffix = pack.lanes, vector[1:-1].replace(" x ", "")
    suffix = f"v{lanes}" + {"float": "f32", "double": "f64"}.get(suffix.removeprefix(str(lanes)), suffix.removeprefix(str(lanes)))
    place = f"<{lanes} x ptr>" if many else "ptr"
    name = f"llvm.masked.{kind}.{suffix}.{f'v{lanes}p0' if many else 'p0'}"
    mask = f"<{lanes} x i1> {mask or 'splat (i1 true)'}"
    if value is None:
        pack.builder.module.declare(name, f"declare {vector} @{name}({place}, <{lanes} x i1>, {vector})")
        return f"call {vector} @{name}({place} align {align} {pointer}, {mask}, {vector} zeroinitializer)"
    pack.builder.module.declare(name, f"declare void @{name}({vector}, {place}, <{lanes} x i1>)")
    return f"call void @{name}({vector} {value}, {place} align {align} {pointer}, {mask})"


OPERATIONS[typed.Load] = write_load
OPERATIONS[typed.Store] = write_store
