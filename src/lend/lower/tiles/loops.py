"""The loops over tiles in a device region.

Does: cut a run of iterations, or the box, into tiles, and write the body for whole tiles and for their edges.
Does not: write operations (`pack.py`).
Invariants: each iteration is in one tile. An edge is done vector by vector under a mask, and row by row where rows are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lend.language.reduction import LANES
from lend.lower.control import counted_loop
from lend.lower.indexing import add, literal, multiply, subtract
from lend.lower.tiles import control, memory
from lend.lower.tiles.by_rows import RowsWriter
from lend.lower.tiles.memory import store_address
from lend.lower.tiles.pack import PackWriter
from lend.plan.by_rows import ByRows
from lend.plan.streams import LINE, SHORTEST_RUN, Streams
from lend.plan.tiling import Tiling, operations_in
from lend.plan.variation import Variations

if TYPE_CHECKING:
    from lend.lower.reductions import Lanes
    from lend.lower.regions import RegionWriter

assert control and memory  # they have added what they write

SMALL_BODY = 8
"""Operations of a body whose tiles LLVM may write several times in a row: larger ones gain nothing, and cost time."""
SHORT_BODY = 16
"""Operations of a body that has ends of its own behind each kind of store; four times as many with what is inside these."""
LONG_BODY = 256
"""Operations of a body that is written once for single vectors, whole or not: a mask costs little beside them."""
LARGE_PART = 32
"""Operations of a body times vectors of a group: where there are more, groups with missing iterations go vector by vector."""
STAGE = 32
"""Tiles of rows that all panels go over before the next ones."""


class TileWriter:
    """Writes the tiled loops of one region."""

    def __init__(
        self,
        region: RegionWriter,
        tiling: Tiling,
        variations: Variations,
        streams: Streams | None,
        by_rows: ByRows | None = None,
    ) -> None:
        self._region = region
        self._by_rows = by_rows
        self._streams = streams
        self._tiling = tiling
        self._variations = variations
        self._builder = region.builder
        self._dimensions = range(len(tiling.jam))
        self._single = (1,) * len(tiling.jam)
        self._slots: list[list[str]] = []

    def run(self, begin: str, end: str, outer: Sequence[str]) -> None:
        """The iterations along the last dimension whose counters are in begin..end-1, at these counters of the others."""
        if self._by_rows is not None:
            RowsWriter(self._region, self._tiling, self._variations, self._by_rows).run(begin, end)
            return
        length, starts = subtract(self._builder, end, begin), [*outer, "0"]
        if self._streams is None:
            self._vectors(begin, length, starts, self._single, self._tiling.vectors)
            return
        self._streamed(begin, length, starts, self._streams)

    def _streamed(self, begin: str, length: str, starts: Sequence[str], streams: Streams) -> None:
        """The same with stores that go past the caches where that is possible, from the first whole cache line on.

        What follows the tiles is written once for both kinds of stores, but for short bodies: loops that share what is around
        them share its constants too, which are then not all in registers.
        """
        builder, tiling = self._builder, self._tiling
        lead, possible = self._lead(begin, length, starts, streams)
        stream, plain, after = (builder.new_block(hint) for hint in ("stream", "plain", "after"))
        size = str(tiling.lanes * tiling.vectors)

        def whole(start: str, rest: str, using: Streams | None) -> tuple[str, str]:
            tiles = builder.emit(f"udiv i64 {rest}, {size}")
            self._whole(tiles, start, starts, self._single, tiling.vectors, using)
            done = multiply(builder, tiles, size)
            return add(builder, start, done), subtract(builder, rest, done)

        body = self._region.body
        short = len(body.operations) <= SHORT_BODY and operations_in(body) <= 4 * SHORT_BODY
        builder.branch(possible, stream, plain)
        ends: list[tuple[str, str, str]] = []
        for block, using in ((stream, streams), (plain, None)):
            builder.open(block)
            start, rest = begin, length
            if using is not None:
                self._pieces(begin, lead, starts, self._single, self._region.rolled)
                start, rest = add(builder, begin, lead), subtract(builder, length, lead)
            tail, left = whole(start, rest, using)
            if short:
                self._pieces(tail, left, starts, self._single)
            ends.append((tail, left, builder.block))
            builder.jump(after)
        builder.open(after)
        if not short:
            tail, left = (builder.emit("phi i64 " + ", ".join(f"[ {end[k]}, %{end[2]} ]" for end in ends)) for k in range(2))
            self._pieces(tail, left, starts, self._single)

    def _lead(self, begin: str, length: str, starts: Sequence[str], streams: Streams) -> tuple[str, str]:
        """Iterations before the first one whose stores begin a cache line, and whether all streaming stores have as many.

        That is no question of safety: a store that is said to be aligned has to be.
        """
        builder, region = self._builder, self._region
        here = list(starts)
        here[self._tiling.vector] = begin
        pack = self._pack(here, self._single, 1)
        for operation in streams.subscripts:
            pack.operations[type(operation)](pack, operation)
        leads: list[str] = []
        possible = region.streaming
        for store in streams.stores:
            address = builder.emit(f"ptrtoint ptr {store_address(pack, store, pack.places[0])} to i64")
            away = builder.emit(f"and i64 {builder.emit(f'sub i64 0, {address}')}, {LINE - 1}")
            leads.append(builder.emit(f"lshr i64 {away}, {store.value.scalar.bytes.bit_length() - 1}"))
        for lead in leads[1:]:
            same = builder.emit(f"icmp eq i64 {lead}, {leads[0]}")
            possible = builder.emit(f"and i1 {possible}, {same}")
        long = builder.emit(f"icmp uge i64 {length}, {SHORTEST_RUN}")
        return leads[0], builder.emit(f"and i1 {possible}, {long}")

    def reduce(self, begin: str, end: str, lane: str, outer: Sequence[str], lanes: Lanes) -> None:
        """The same for a loop that reduces: position `begin` contributes to lane `lane` of 64, the next one to the next lane."""
        builder = self._builder
        first, length = subtract(builder, begin, lane), subtract(builder, end, begin)
        distance = add(builder, subtract(builder, end, first), str(LANES - 1))
        known = literal(distance)
        groups = builder.emit(f"udiv i64 {distance}, {LANES}") if known is None else str(known // LANES)
        every = literal(lane) == 0 and (literal(length) or 1) % LANES == 0  # no lane is without an iteration

        def group(number: str) -> None:
            start = add(builder, first, multiply(builder, number, str(LANES)))
            if every:
                self._group(start, outer, lanes, None, following=False)
                return
            before = subtract(builder, begin, start)
            enough = builder.emit(f"icmp sle i64 {add(builder, start, str(LANES))}, {end}")
            inside = builder.emit(f"icmp sle i64 {before}, 0")
            present = builder.emit(f"and i1 {enough}, {inside}")
            if lanes.located:  # by the third group, every lane has met an iteration
                later = builder.emit(f"icmp uge i64 {number}, 2")
                present = builder.emit(f"and i1 {present}, {later}")
            whole, part, after = (builder.new_block(hint) for hint in ("whole", "part", "after"))
            builder.branch(present, whole, part)
            builder.open(whole)
            if self._region.paced is not None and self._slots:
                paced, at_once = builder.new_block("paced"), builder.new_block("at_once")
                builder.branch(self._region.paced[0], paced, at_once)
                builder.open(paced)
                self._group(start, outer, lanes, None, following=True, nothing=self._region.paced[1])
                builder.jump(after)
                builder.open(at_once)
            self._group(start, outer, lanes, None, following=True)
            builder.jump(after)
            builder.open(part)
            self._part(start, outer, lanes, (before, length))
            builder.jump(after)
            builder.open(after)

        if groups == "1":
            group("0")
        else:
            counted_loop(self._region, "0", groups, group)

    def _part(self, start: str, outer: Sequence[str], lanes: Lanes, present: tuple[str, str]) -> None:
        """Iterations for some of the 64 lanes: those of large bodies vector by vector, for which lanes in registers go to memory.

        Such groups are at most two of a run, and code for all lanes at once would cost LLVM more than that of whole groups.
        """
        small = operations_in(self._region.body) * self._tiling.vectors <= LARGE_PART
        if lanes.located or (self._slots and small):  # of located ones, two groups of each block are written as parts
            self._group(start, outer, lanes, present)
            return
        slots, self._slots = self._slots, []
        if slots:
            lanes.copy_in(self._tiling.lanes, slots)
        self._group(start, outer, lanes, present, 1)
        self._slots = slots
        if slots:
            lanes.copy_out(self._tiling.lanes, slots)

    def _group(
        self,
        start: str,
        outer: Sequence[str],
        lanes: Lanes,
        present: tuple[str, str] | None,
        vectors: int | None = None,
        following: bool = False,
        nothing: str | None = None,
    ) -> None:
        """Iterations for the 64 lanes; `present`: how far from the start those that are there begin, and how many they are.

        `following`: each lane has met an iteration before. `nothing`: a zero; with it, each vector waits for the one before it.
        """
        tiling, builder = self._tiling, self._builder
        vectors = tiling.vectors if vectors is None else vectors
        size = tiling.lanes * vectors

        def piece(number: str) -> None:
            moved = multiply(builder, number, str(size))
            pack = self._pack([*outer, add(builder, start, moved)], self._single, vectors)
            if present is not None:
                begin = subtract(builder, present[0], moved)
                pack.masks = {
                    place: self._mask(pack, subtract(builder, begin, str(place[-1] * tiling.lanes)), present[1])
                    for place in pack.places
                }
                pack.certain = len(pack.places) == 1
            dimensions = len(tiling.jam)
            for parameter, value in zip(self._region.body.parameters[dimensions:], lanes.identities(), strict=True):
                pack.bind_shaped(parameter, dict.fromkeys(pack.classes(self._variations.of(parameter)), value))
            after = builder.new_block("after")
            if present is not None and size != LANES:  # a loop might not end for a piece without any iteration
                some = builder.new_block("some")
                builder.branch(pack.any(pack.masks.values()), some, after)
                builder.open(some)
            pack.run(self._region.body)
            for k, place in enumerate(pack.places):
                values = [pack.vector(value, place) for value in self._region.body.yields]
                if nothing is not None:
                    values = [lanes.after(tiling.lanes, value, self._slots[k - 1][0], nothing) for value in values]
                slots = self._slots[k] if self._slots else lanes.slots(add(builder, moved, str(k * tiling.lanes)))
                lanes.accumulate_vectors(tiling.lanes, slots, values, pack.masks.get(place), following)
            builder.jump(after)
            builder.open(after)

        if size == LANES:
            piece("0")
        else:
            counted_loop(self._region, "0", str(LANES // size), piece, properties=() if present is None else self._region.rolled)

    def clear(self, lanes: Lanes) -> None:
        """Lanes start from the identity: in vectors of their own (registers) where a tile holds all of them."""
        tiling = self._tiling
        if tiling.lanes * tiling.vectors != LANES:
            lanes.clear()
            return
        if not self._slots:
            self._slots = [lanes.vector_slots(tiling.lanes) for _ in range(tiling.vectors)]
        lanes.clear_vectors(tiling.lanes, self._slots)

    def finish(self, lanes: Lanes) -> None:
        """Lanes are in memory again."""
        if self._slots:
            lanes.copy_in(self._tiling.lanes, self._slots)

    def tile(self, position: str) -> None:
        """The tile at a position of the loop over tiles."""
        builder, tiling = self._builder, self._tiling
        starts = self._starts(position)
        if tiling.volume == 1:
            self._body(starts, self._single, 1, None)
            return
        rest = [subtract(builder, self._region.axes[d].count, starts[d]) for d in self._dimensions]
        rows = [d for d in self._dimensions if tiling.jam[d] > 1 and not self._divides(d, tiling.jam[d])]
        if not rows:
            self._row_of_tile(starts, rest)
            return
        whole = "true"
        for d in rows:
            enough = builder.emit(f"icmp uge i64 {rest[d]}, {tiling.jam[d]}")
            whole = enough if whole == "true" else builder.emit(f"and i1 {whole}, {enough}")
        jammed, single, after = (builder.new_block(hint) for hint in ("jammed", "single", "after"))
        builder.branch(whole, jammed, single)
        builder.open(jammed)
        self._row_of_tile(starts, rest)
        builder.jump(after)
        builder.open(single)
        self._rows(rows, starts, rest)
        builder.jump(after)
        builder.open(after)

    def _row_of_tile(self, starts: list[str], rest: list[str]) -> None:
        """A tile that misses no rows: at once, or vector by vector if it is at the end of the rows."""
        builder, tiling = self._builder, self._tiling
        v, size = tiling.vector, tiling.lanes * tiling.vectors
        if size == 1:
            self._body(starts, tiling.jam, 1, None)
            return
        if self._divides(v, size):
            self._body(starts, tiling.jam, tiling.vectors, None)
            return
        whole, part, after = (builder.new_block(hint) for hint in ("whole", "part", "after"))
        builder.branch(builder.emit(f"icmp uge i64 {rest[v]}, {size}"), whole, part)
        builder.open(whole)
        self._body(starts, tiling.jam, tiling.vectors, None)
        builder.jump(after)
        builder.open(part)
        self._pieces(starts[v], rest[v], starts, tiling.jam, self._region.rolled)
        builder.jump(after)
        builder.open(after)

    def _divides(self, d: int, size: int) -> bool:
        """Whether the iterations of a dimension are known to be a multiple of `size`."""
        count = literal(self._region.axes[d].count)
        return count is not None and count % size == 0

    def _starts(self, position: str) -> list[str]:
        """The counter of the first iteration of a tile, per dimension: tiles go row by row, or panel by panel."""
        builder, panels = self._builder, self._region.panels
        by_row = self._decoded(position, tuple(self._dimensions))
        if panels == "false" or len(by_row) == 1:
            return by_row
        order = self._tiling.order
        by_panel = self._in_stages(position, *order) if len(order) == 2 else self._decoded(position, order)
        return [builder.emit(f"select i1 {panels}, i64 {p}, i64 {r}") for p, r in zip(by_panel, by_row, strict=True)]

    def _decoded(self, position: str, order: Sequence[int]) -> list[str]:
        """The same in one order of the dimensions."""
        builder, tiling = self._builder, self._tiling
        starts = ["0"] * len(tiling.jam)
        for d in reversed(order[1:]):
            count = self._region.tile_counts[d]
            number = builder.emit(f"urem i64 {position}, {count}")
            position = builder.emit(f"udiv i64 {position}, {count}")
            starts[d] = multiply(builder, number, str(tiling.extents[d]))
        starts[order[0]] = multiply(builder, position, str(tiling.extents[order[0]]))
        return starts

    def _in_stages(self, position: str, v: int, d: int) -> list[str]:
        """Panel by panel within a stage of rows: what a stage reads stays in the last cache while all panels go over it."""
        builder, tiling, counts = self._builder, self._tiling, self._region.tile_counts
        whole = multiply(builder, counts[v], str(STAGE))
        stage = builder.emit(f"udiv i64 {position}, {whole}")
        inside = subtract(builder, position, multiply(builder, stage, whole))
        before = multiply(builder, stage, str(STAGE))
        rows = self._smaller(subtract(builder, counts[d], before), str(STAGE))
        panel = builder.emit(f"udiv i64 {inside}, {rows}")
        row = add(builder, before, subtract(builder, inside, multiply(builder, panel, rows)))
        starts = ["0"] * len(tiling.jam)
        starts[v] = multiply(builder, panel, str(tiling.extents[v]))
        starts[d] = multiply(builder, row, str(tiling.extents[d]))
        return starts

    def _rows(self, rows: list[int], starts: list[str], rest: list[str]) -> None:
        """What is left of a tile that misses rows, one row after the other."""
        if not rows:
            v = self._tiling.vector
            length = self._smaller(rest[v], str(self._tiling.lanes * self._tiling.vectors))
            self._pieces(starts[v], length, starts, self._single, self._region.rolled)
            return
        d, *others = rows
        count = self._smaller(rest[d], str(self._tiling.jam[d]))

        def row(number: str) -> None:
            here = list(starts)
            here[d] = add(self._builder, starts[d], number)
            self._rows(others, here, rest)

        counted_loop(self._region, "0", count, row)

    def _vectors(self, begin: str, length: str, starts: Sequence[str], rows: tuple[int, ...], vectors: int) -> None:
        """`length` iterations along the vector dimension: as many whole tiles as there are, then single vectors."""
        builder, size = self._builder, self._tiling.lanes * vectors
        if size > 1 and (vectors > 1 or operations_in(self._region.body) <= LONG_BODY):
            whole = builder.emit(f"udiv i64 {length}, {size}")
            self._whole(whole, begin, starts, rows, vectors)
            done = multiply(builder, whole, str(size))
            begin, length = add(builder, begin, done), subtract(builder, length, done)
        self._pieces(begin, length, starts, rows)

    def _whole(
        self,
        count: str,
        begin: str,
        starts: Sequence[str],
        rows: tuple[int, ...],
        vectors: int,
        streams: Streams | None = None,
    ) -> None:
        """So many whole tiles."""
        size = str(self._tiling.lanes * vectors)

        def tile(number: str) -> None:
            counters = self._at(starts, add(self._builder, begin, multiply(self._builder, number, size)))
            self._body(counters, rows, vectors, None, streams)

        small = streams is None and len(self._region.body.operations) <= SMALL_BODY
        self._some(count, tile, () if small else self._region.rolled)

    def _at(self, starts: Sequence[str], counter: str) -> list[str]:
        """Counters at one of the vector dimension."""
        here = list(starts)
        here[self._tiling.vector] = counter
        return here

    def _pieces(
        self, begin: str, length: str, starts: Sequence[str], rows: tuple[int, ...], properties: tuple[str, ...] = ()
    ) -> None:
        """`length` iterations vector by vector, the last one under a mask. `properties`: what LLVM is told of the loops."""
        builder, lanes = self._builder, self._tiling.lanes
        more = builder.emit(f"add i64 {length}, {lanes - 1}")
        pieces = builder.emit(f"udiv i64 {more}, {lanes}")

        def piece(number: str) -> None:
            moved = multiply(builder, number, str(lanes))
            left = subtract(builder, length, moved)
            self._body(self._at(starts, add(builder, begin, moved)), rows, 1, None if lanes == 1 else left, properties=properties)

        self._some(pieces, piece, properties)

    def _body(
        self,
        counters: Sequence[str],
        rows: tuple[int, ...],
        vectors: int,
        left: str | None,
        streams: Streams | None = None,
        properties: tuple[str, ...] = (),
    ) -> None:
        """The iterations of a tile from these counters on; `left`: how many of the one vector there are, None for all."""
        pack = self._pack(counters, rows, vectors)
        pack.loop_properties = properties
        pack.streaming = frozenset() if streams is None else frozenset(streams.stores)
        if left is not None:
            pack.edge = self._mask(pack, "0", left)
            pack.masks = dict.fromkeys(pack.places, pack.edge)
        pack.run(self._region.body)

    def _mask(self, pack: PackWriter, begin: str, length: str) -> str:
        """The lanes with numbers in begin..begin + length - 1."""
        lanes, builder = self._tiling.lanes, self._builder
        numbers = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
        if begin != "0":
            numbers = builder.emit(f"sub <{lanes} x i64> {numbers}, {pack.broadcast('i64', begin)}")
        return builder.emit(f"icmp ult <{lanes} x i64> {numbers}, {pack.broadcast('i64', length)}", "mask")

    def _pack(self, counters: Sequence[str], rows: tuple[int, ...], vectors: int) -> PackWriter:
        """The places of a tile, with their indices."""
        region, tiling, builder = self._region, self._tiling, self._builder
        pack = PackWriter(region, tiling, self._variations, rows, vectors)
        for d in self._dimensions:
            index = region.body.parameters[d]
            for place in pack.classes(self._variations.of(index)):
                apart = place[d] * (tiling.lanes if d == tiling.vector else 1)
                pack.place = place
                pack.bind(index, region.index(region.axes[d], add(builder, counters[d], str(apart))))
        return pack

    def _some(self, count: str, body: Callable[[str], None], properties: tuple[str, ...] = ()) -> None:
        """`body(k)` for k below `count`, which may be 0."""
        if literal(count) == 0:
            return
        builder = self._builder
        loop, after = builder.new_block("some"), builder.new_block("after")
        builder.branch(builder.emit(f"icmp ne i64 {count}, 0"), loop, after)
        builder.open(loop)
        counted_loop(self._region, "0", count, body, properties=properties)
        builder.jump(after)
        builder.open(after)

    def _smaller(self, a: str, b: str) -> str:
        less = self._builder.emit(f"icmp ult i64 {a}, {b}")
        return self._builder.emit(f"select i1 {less}, i64 {a}, i64 {b}")
