"""Branches and loops of a pack: real ones where all iterations agree, masks where they need not.

Does: `If`, `For`, `While` for the places of a tile.  Does not: loops over tiles (`loops.py`).
Invariants: under a condition that varies, each iteration computes exactly what it would alone: what it carries is frozen when it
leaves a loop, and a loop ends when no iteration is left in it. Arms without effects may be computed for all, then selected.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.lower.arithmetic import register_type
from lend.lower.control import enter_loop, open_counter, open_phi
from lend.lower.indexing import add, literal, multiply, range_count
from lend.lower.tiles.pack import OPERATIONS, PackWriter, Place
from lend.lower.tiles.widen import WideBuilder, spread, vector_type
from lend.plan.variation import Variation

CHEAP = 12
"""Operations of an arm that are computed without asking first whether any iteration takes it."""

Operands = dict[Value, dict[Place, str]]


def write_if(pack: PackWriter, operation: typed.If) -> None:
    """A branch if the condition is the same everywhere, else both arms under masks."""
    if any(entry != 0 for entry in pack.variations.of(operation.condition)):
        _write_masked_if(pack, operation)
        return
    builder = pack.builder
    then, orelse, after = (builder.new_block(hint) for hint in ("then", "else", "after"))
    builder.branch(pack.text(operation.condition, pack.places[0]), then, orelse)
    arms: list[tuple[Operands, str]] = []
    for block, region in ((then, operation.then), (orelse, operation.orelse)):
        builder.open(block)
        pack.run(region)
        arms.append((_shaped(pack, operation.results, region.yields), builder.block))
        builder.jump(after)
    builder.open(after)
    _merge(pack, operation.results, arms)


def _write_masked_if(pack: PackWriter, operation: typed.If) -> None:
    condition = operation.condition
    along = pack.variations.of(condition)
    holds = {place: _in_lanes(pack, condition, place) for place in pack.places}
    known: dict[tuple[str, ...], str] = {}

    def masks(inverse: bool) -> dict[Place, str]:
        found: dict[Place, str] = {}
        for place in pack.places:
            outer = pack.masks.get(place)
            key = (outer or "", holds[place], "not" if inverse else "")
            if key not in known:
                mask = pack.inverse(holds[place]) if inverse else holds[place]
                known[key] = pack.both(outer, mask)
            found[place] = known[key]
        return found

    arms: list[Operands] = []
    for region, inverse in ((operation.then, False), (operation.orelse, True)):
        if not region.operations:
            arms.append(_shaped(pack, operation.results, region.yields))
        elif _is_pure(region):
            pack.run(region)
            arms.append(_shaped(pack, operation.results, region.yields))
        else:
            arms.append(_arm(pack, operation.results, region, masks(inverse)))
    for result in operation.results:
        _select(pack, result, along, condition, arms)


def _in_lanes(pack: PackWriter, condition: Value, place: Place) -> str:
    """A condition as a mask."""
    operand = pack.vector(condition, place)
    scalar = pack.lanes == 1 and pack.variations.of(condition)[pack.vector_dimension] != 0
    return pack.broadcast("i1", operand) if scalar else spread(pack.lanes, "i1", operand)


def _arm(pack: PackWriter, results: tuple[Value, ...], region: Region, masks: dict[Place, str]) -> Operands:
    """One arm under its masks; a dear one only if there is an iteration that takes it."""
    builder = pack.builder
    single = len(pack.places) == 1
    if _size(region) <= CHEAP:
        with pack.masked(masks):
            pack.run(region)
        return _shaped(pack, results, region.yields)
    arm, after = builder.new_block("arm"), builder.new_block("after")
    taken = pack.any(masks.values())
    before = builder.block
    builder.branch(taken, arm, after)
    builder.open(arm)
    with pack.masked(masks, certain=single):
        pack.run(region)
    inside = _shaped(pack, results, region.yields)
    came = builder.block
    builder.jump(after)
    builder.open(after)
    out: Operands = {}
    for result in results:
        variation = pack.variations.of(result)
        name = pack.register(register_type(result.scalar), variation)
        out[result] = {
            place: builder.emit(f"phi {name} [ {operand}, %{came} ], [ zeroinitializer, %{before} ]")
            for place, operand in inside[result].items()
        }
    return out


def _select(pack: PackWriter, result: Value, along: Variation, condition: Value, arms: list[Operands]) -> None:
    """The result of each iteration, of the arm that it takes."""
    variation = pack.variations.of(result)
    name = pack.register(register_type(result.scalar), variation)
    chosen: dict[Place, str] = {}
    for place in pack.classes(variation):
        then, orelse = arms[0][result][place], arms[1][result][place]
        test = _test(pack, condition, variation, place)
        chosen[place] = then if then == orelse else pack.builder.emit(f"select {test}, {name} {then}, {name} {orelse}")
    pack.bind_shaped(result, chosen)


def _test(pack: PackWriter, condition: Value, variation: Variation, place: Place) -> str:
    """A condition as an operand of a select between values of a variation."""
    if pack.is_vector(variation) and pack.is_vector(pack.variations.of(condition)):
        return f"<{pack.lanes} x i1> {spread(pack.lanes, 'i1', pack.text(condition, place))}"
    return f"i1 {pack.text(condition, place)}"


# ---------------------------------------------------------------------------------------------------- loops


def write_for(pack: PackWriter, operation: typed.For) -> None:
    """A counted loop if all iterations run it equally often, else one that ends when the last of them has."""
    extent = operation.extent
    ends = pack.variations.ends(operation)
    if any(entry != 0 for entry in ends):
        _write_masked_for(pack, operation, ends)
        return
    builder, body = pack.builder, operation.body
    place = pack.places[0]
    lower, upper, step = (pack.text(value, place) for value in (extent.lower, extent.upper, extent.step))
    carried = body.parameters[1:]
    inits = _shaped(pack, carried, operation.inits)
    count = range_count(builder, lower, upper, step)
    loop, after = builder.new_block("loop"), builder.new_block("after")
    before = builder.block
    if literal(count) == 0:
        _merge_as(pack, operation.results, carried, [(inits, before)])
        return
    enter_loop(builder, count, loop, after)
    counter, bumped, close_counter = open_counter(builder, "0", before)
    phis = _Phis(pack, carried, inits, before)
    _bind_index(pack, body.parameters[0], extent.lower, multiply(builder, counter, step))
    pack.run(body)
    yields = body.yields[1:] if operation.stops else body.yields
    following = _shaped(pack, carried, yields)
    stop = pack.text(body.yields[0], place) if operation.stops else None
    end = builder.block
    phis.close(following, end)
    close_counter(end)
    builder.append(f"{bumped} = add nuw i64 {counter}, 1")
    done = builder.emit(f"icmp eq i64 {bumped}, {count}")
    if stop is not None:
        done = builder.emit(f"or i1 {done}, {stop}")
    builder.branch(done, after, loop, properties=pack.loop_properties)
    builder.open(after)
    left = [(following, end)]
    _merge_as(pack, operation.results, carried, left if literal(count) else [(inits, before), *left])


def _write_masked_for(pack: PackWriter, operation: typed.For, ends: Variation) -> None:
    """Each iteration is in the loop while its own count lasts."""
    extent, body, builder = operation.extent, operation.body, pack.builder
    length = pack.variations.length(extent)
    index = body.parameters[0]
    counts: dict[Place, str] = {}
    for place in pack.classes(length):
        if length[pack.vector_dimension] == 0 or pack.lanes == 1:
            lower, upper = pack.text(extent.lower, place), pack.text(extent.upper, place)
            counts[place] = range_count(builder, lower, upper, pack.text(extent.step, place))
        else:
            lower, upper = pack.vector(extent.lower, place), pack.vector(extent.upper, place)
            wide = WideBuilder(builder, pack.lanes)
            counts[place] = range_count(wide, lower, upper, pack.text(extent.step, place))
    step = pack.text(extent.step, pack.places[0])

    def test(counter: str) -> dict[Place, str]:
        _bind_index(pack, index, extent.lower, multiply(builder, counter, step))
        holds: dict[Place, str] = {}
        for place in pack.places:
            count = counts[pack.key(length, place)]
            if length[pack.vector_dimension] == 0:
                holds[place] = builder.emit(f"icmp ult i64 {counter}, {count}")
                if ends[pack.vector_dimension] != 0:
                    holds[place] = pack.broadcast("i1", holds[place])
            else:
                vector = vector_type(pack.lanes, "i64")
                number = pack.broadcast("i64", counter)
                holds[place] = builder.emit(f"icmp ult {vector} {number}, {spread(pack.lanes, 'i64', count)}")
        return holds

    stop = body.yields[0] if operation.stops else None
    yields = body.yields[1:] if operation.stops else body.yields
    _masked_loop(pack, operation.inits, (body.parameters[1:],), operation.results, ends, test, body, yields, stop)


def write_while(pack: PackWriter, operation: typed.While) -> None:
    """Each iteration is in the loop while its own condition holds."""
    condition, body = operation.condition, operation.body
    stop = body.yields[0] if operation.stops else None
    yields = body.yields[1:] if operation.stops else body.yields
    ends = pack.variations.along((*condition.yields, *((stop,) if stop is not None else ())))

    def test(_: str) -> dict[Place, str]:
        pack.run(condition)
        (holds,) = condition.yields
        return {place: _own(pack, holds, ends, place) for place in pack.places}

    carried = (condition.parameters, body.parameters)
    _masked_loop(pack, operation.inits, carried, operation.results, ends, test, body, yields, stop)


def _own(pack: PackWriter, value: Value, ends: Variation, place: Place) -> str:
    """A condition as a scalar where iterations of a vector leave the loop together, else as a vector."""
    if ends[pack.vector_dimension] == 0:
        return pack.text(value, place)
    return _in_lanes(pack, value, place)


def _masked_loop(
    pack: PackWriter,
    inits: tuple[Value, ...],
    parameters: tuple[tuple[Value, ...], ...],
    results: tuple[Value, ...],
    ends: Variation,
    test: Callable[[str], dict[Place, str]],
    body: Region,
    yields: tuple[Value, ...],
    stop: Value | None,
) -> None:
    """`while test and not stop: body`, each iteration for itself.

    `parameters`: what is carried, under each of its names. An iteration's own state (`alive`) is a scalar where all lanes of a
    vector leave together; the masks in force outside are added to it, so that lanes without an iteration never keep a loop going.
    """
    builder, carried = pack.builder, parameters[0]
    narrow = ends[pack.vector_dimension] == 0
    own = "i1" if narrow else f"<{pack.lanes} x i1>"
    on = "true" if narrow else "splat (i1 true)"
    shapes = _shaped(pack, carried, inits)
    head, inside, after = (builder.new_block(hint) for hint in ("while", "body", "after"))
    before = builder.block
    builder.jump(head)
    builder.open(head)
    counter, bumped, close_counter = open_counter(builder, "0", before)
    phis = _Phis(pack, carried, shapes, before)
    for names in parameters[1:]:
        for name, value in zip(names, carried, strict=True):
            pack.alias(name, value)
    keys = pack.classes(ends)
    states = {key: open_phi(builder, own, on, before) for key in keys}
    alive = {key: name for key, (name, _) in states.items()}
    outer, together = dict(pack.masks), all(entry == 0 for entry in ends)

    def present(state: dict[Place, str]) -> dict[Place, str]:
        known: dict[tuple[str, str], str] = {}
        masks: dict[Place, str] = {}
        if together:
            return outer
        for place in pack.places:
            mine, mask = state[pack.key(ends, place)], outer.get(place)
            key = mine, mask or ""
            if key not in known:
                known[key] = pack.both(mask, pack.broadcast("i1", mine) if narrow else mine)
            masks[place] = known[key]
        return masks

    with pack.masked(present(alive), certain=together and pack.certain):
        holds = test(counter)
    going = {key: builder.emit(f"and {own} {alive[key]}, {holds[key]}") for key in keys}
    masks = present(going)
    builder.branch(next(iter(going.values())) if together else pack.any(masks.values()), inside, after)
    builder.open(inside)
    frozen = {value: dict(phis.values[value]) for value in carried}
    with pack.masked(masks, certain=pack.certain if together else len(pack.places) == 1):
        pack.run(body)
    following = _shaped(pack, carried, yields)
    chosen: Operands = {}
    for value in carried:
        variation = pack.variations.of(value)
        name = pack.register(register_type(value.scalar), variation)
        chosen[value] = {}
        for place, operand in following[value].items():
            condition = going[pack.key(ends, place)]
            old = frozen[value][place]
            chosen[value][place] = (
                operand if operand == old else builder.emit(f"select {own} {condition}, {name} {operand}, {name} {old}")
            )
    last = going
    if stop is not None:
        last = {}
        for key in keys:
            left = builder.emit(f"xor {own} {_own(pack, stop, ends, key)}, {on}")
            last[key] = builder.emit(f"and {own} {going[key]}, {left}")
    end = builder.block
    phis.close(chosen, end)
    close_counter(end)
    for key in keys:
        states[key][1](last[key], end)
    builder.append(f"{bumped} = add i64 {counter}, 1")
    builder.jump(head)
    builder.open(after)
    for result, value in zip(results, carried, strict=True):
        pack.bind_shaped(result, frozen[value])


class _Phis:
    """What a loop carries: phis at its head, which are complete once the next values are known."""

    def __init__(self, pack: PackWriter, carried: tuple[Value, ...], inits: Operands, before: str) -> None:
        self._writers: list[tuple[Value, Place, Callable[[str, str], None]]] = []
        self.values: Operands = {}
        for value in carried:
            name = pack.register(register_type(value.scalar), pack.variations.of(value))
            self.values[value] = {}
            for place, init in inits[value].items():
                self.values[value][place], write = open_phi(pack.builder, name, init, before)
                self._writers.append((value, place, write))
            pack.bind_shaped(value, self.values[value])

    def close(self, following: Operands, end: str) -> None:
        """At the end of the loop's last block: the next values."""
        for value, place, write in self._writers:
            write(following[value][place], end)


def _shaped(pack: PackWriter, targets: tuple[Value, ...], values: tuple[Value, ...]) -> Operands:
    """Operands of `values` in the shape of `targets`, in the open block."""
    out: Operands = {}
    for target, value in zip(targets, values, strict=True):
        variation = pack.variations.of(target)
        out[target] = {place: pack.shaped(value, variation, place) for place in pack.classes(variation)}
    return out


def _merge(pack: PackWriter, results: tuple[Value, ...], arms: list[tuple[Operands, str]]) -> None:
    """Phis at the start of the open block."""
    _merge_as(pack, results, results, arms)


def _merge_as(pack: PackWriter, results: tuple[Value, ...], names: tuple[Value, ...], arms: list[tuple[Operands, str]]) -> None:
    """Phis for `results` of what the arms know as `names`, which vary alike."""
    for result, known in zip(results, names, strict=True):
        variation = pack.variations.of(result)
        type = pack.register(register_type(result.scalar), variation)
        merged: dict[Place, str] = {}
        for place in pack.classes(variation):
            operands = [(operands[known][place], block) for operands, block in arms]
            if len({operand for operand, _ in operands}) == 1:
                merged[place] = operands[0][0]
            else:
                merged[place] = pack.builder.emit(f"phi {type} " + ", ".join(f"[ {o}, %{b} ]" for o, b in operands))
        pack.bind_shaped(result, merged)


def _bind_index(pack: PackWriter, index: Value, lower: Value, distance: str) -> None:
    """The index of a loop, `distance` after its start."""
    variation, builder = pack.variations.of(index), pack.builder
    for place in pack.classes(variation):
        pack.place = place
        if pack.is_vector(variation):
            base = spread(pack.lanes, "i64", pack.vector(lower, place))
            pack.bind(index, builder.emit(f"add <{pack.lanes} x i64> {base}, {pack.broadcast('i64', distance)}"))
        else:
            pack.bind(index, add(builder, pack.text(lower, place), distance))


# ---------------------------------------------------------------------------------------------------- arms


def _size(region: Region) -> int:
    """Operations of a region; loops and functions of mathematics count as many."""
    total = 0
    for operation in region.operations:
        total += CHEAP + 1 if isinstance(operation, typed.For | typed.While | typed.Math) else 1
        total += sum(_size(inner) for inner in operation.regions)
    return total


def _is_pure(region: Region) -> bool:
    """Whether a region is short arithmetic without dangers, which may be done for iterations that do not take it."""
    for operation in region.operations:
        match operation:
            case typed.Binary(operator="floordiv" | "mod"):
                return False
            case typed.Constant() | typed.Unary() | typed.Binary() | typed.Cast() | typed.Size():
                pass
            case typed.If(then=then, orelse=orelse):
                if not (_is_pure(then) and _is_pure(orelse)):
                    return False
            case typed.Call(body=body):
                if not _is_pure(body):
                    return False
            case _:
                return False
    return _size(region) <= CHEAP


OPERATIONS[typed.If] = write_if
OPERATIONS[typed.For] = write_for
OPERATIONS[typed.While] = write_while
