"""A plan -> what it says to the user: per loop, the choices and their reasons, most work first.

Does: gather what was decided, and for which arrays, lines and sizes.
Does not: decide (`tiling.py`, `streams.py`, `waves.py`), or choose words (`wording.py`).
Invariants: nothing is said of a call that its sizes do not decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from lend.checks.places import target
from lend.diagnostics.explanation import (
    Explanation,
    HostLoopReport,
    LoopReport,
    MemoryAccess,
    Obstacle,
    PatternName,
    SequentialLoop,
    Streaming,
    Threads,
    Vector,
)
from lend.diagnostics.proofs import Proof, Proofs
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Store, Value
from lend.language.types import ArrayType, size_of
from lend.plan import wording
from lend.plan.regions import DeviceRegion, Plan
from lend.plan.sizes import Given, Sizes
from lend.plan.streams import SHORTEST_RUN, Unstreamed
from lend.plan.tile_cost import Estimate, Pattern
from lend.plan.tiling import Tiling
from lend.plan.variation import Variation
from lend.plan.waves import Decision

NOMINAL = 512
"""What a size counts as where it is not known, to put the loops in order."""
STEPS = 16
"""The same for a loop of the host level."""

_PATTERNS: dict[Pattern, PatternName] = {
    Pattern.SHARED: "shared",
    Pattern.NEIGHBOURS: "neighbouring",
    Pattern.TURNED: "turned",
    Pattern.STRIDED: "strided",
    Pattern.GATHERED: "gathered",
}


@dataclass(frozen=True)
class Surroundings:
    """What compiled code asks of the machine that it runs on: threads, the bytes of its last cache, how many bytes of arrays make
    waves worth a try."""

    threads: int
    last_cache: int
    wave_bytes: int
    vector_bytes: int


def report(plan: Plan, proofs: Proofs, surroundings: Surroundings, given: Given | None = None) -> Explanation:
    """What is to be said of a plan; `given`: of one call."""
    return _Reporter(plan, proofs, surroundings, given or Given()).explanation()


class _Reporter:
    """Reports on one kernel."""

    def __init__(self, plan: Plan, proofs: Proofs, surroundings: Surroundings, given: Given) -> None:
        self.plan = plan
        self.proofs = proofs
        self.surroundings = surroundings
        self.given = given
        self.sizes = Sizes(plan.kernel, given)
        self.arrays = {parameter.value: parameter.name for parameter in plan.kernel.parameters}
        self.conditions = dict(_conditions(plan.kernel.body))
        self.waves = [
            (self._around(decision), {phase.parallel for phase in decision.wave.phases})
            for decision in plan.decisions
            if decision.wave is not None
        ]

    def explanation(self) -> Explanation:
        """All of it."""
        steps = dict(self._steps(self.plan.kernel.body, 1))
        fallbacks = {region.parallel.span for region in self.plan.regions if region.parallel.fallback}
        teams = {region.parallel.span for region in self.plan.regions if region.parallel.team}
        found: list[tuple[int, LoopReport]] = []
        for region in self.plan.regions:
            combines = region.parallel.span in teams and not region.parallel.team  # what its blocks have found
            if not region.parallel.fallback and not combines:
                found.append((self._weight(region) * steps[region.parallel], self._loop(region, fallbacks)))
        loops = [loop for _, loop in sorted(found, key=lambda pair: -pair[0])]  # equal ones as in the text
        sizes = [(dim.name or "_", self.given.numbers[dim]) for dim in self.plan.kernel.dims if dim in self.given.numbers]
        host = sorted(self._host(), key=lambda loop: loop.place.line)
        return Explanation(self.plan.kernel.name, tuple(sizes), self.surroundings.threads, tuple(loops), tuple(host))

    def _steps(self, region: Region, steps: int) -> Iterator[tuple[Parallel, int]]:
        """How often each parallel loop runs, roughly."""
        for operation in region.operations:
            if isinstance(operation, Parallel):
                yield operation, steps
                continue
            times = 1
            if isinstance(operation, typed.For | typed.While):
                known = self.sizes.loop(operation)
                times = STEPS if known is None else known
            for inner in operation.regions:
                yield from self._steps(inner, steps * times)

    def _weight(self, region: DeviceRegion) -> int:
        counts = self.sizes.extents(region.parallel)
        return prod(NOMINAL if count is None else count for count in counts) * (self.sizes.cost(region.work, NOMINAL) or 1)

    # ------------------------------------------------------------------------------------------------- parallel loops

    def _loop(self, region: DeviceRegion, fallbacks: set[Span]) -> LoopReport:
        parallel, tiling = region.parallel, region.tiling
        names = indices(parallel)
        operations = list(operations_of(parallel.body))
        places = {operation.span for operation in operations}
        proofs = [proof for proof in self.proofs if proof.place in places]
        tested = {operation.span for operation in operations if getattr(operation, "site", None) is not None}
        free = [proof for proof in proofs if proof.verdict == "launch" and proof.keeps_check and proof.place not in tested]
        conditions = [proof.condition for proof in free if proof.condition]
        facts = LoopReport(
            parallel.span,
            parallel.span.text.rstrip().removesuffix(":"),
            names,
            self.sizes.iterations(parallel),
            None
            if tiling is None
            else Vector(names[tiling.vector], tiling.lanes, tiling.vectors if region.by_rows is None else 1),
            () if tiling is None else tuple((names[d], rows) for d, rows in enumerate(tiling.jam) if rows > 1),
            names if tiling is None else tuple(names[d] for d in tiling.order),
            self._obstacle(region, proofs),
            tuple(self._accesses(region)),
            self._streaming(region),
            "" if region.unstreamed is None else wording.unstreamed(region.unstreamed),
            self._threads(region),
            _reduced(parallel) or self._combined(region),
            tuple(self._inside(region, parallel.body)),
            " and ".join(dict.fromkeys(conditions)) if conditions and parallel.span in fallbacks else None,
            self._holds(parallel) if conditions else None,
            (),
        )
        wave = next((host for host, phases in self.waves if parallel in phases), None)
        words = wording.sentences(facts, region, _branches(region), wave, self.plan.kernel.span)
        return replace(facts, sentences=tuple(words))

    def _combined(self, region: DeviceRegion) -> tuple[str, ...]:
        """What the loop reduces to that combines what blocks have found."""
        others = (r.parallel for r in self.plan.regions if region.parallel.team and r.parallel.span == region.parallel.span)
        return tuple(dict.fromkeys(name for other in others for name in _reduced(other)))

    def _holds(self, parallel: Parallel) -> bool | None:
        """Whether the version without tests runs in this call."""
        condition = self.conditions.get(parallel)
        holds = None if condition is None else self.sizes.of(condition)
        return None if holds is None else bool(holds)

    def _obstacle(self, region: DeviceRegion, proofs: list[Proof]) -> Obstacle | None:
        untiled = region.untiled
        if untiled is None:
            return None
        at = region.parallel.span if untiled.at is None else untiled.at.span
        at = target(at) if isinstance(untiled.at, Load | Store) else at
        proof: Proof | None = None
        if untiled.at is None:
            proof = next((p for p in proofs if p.verdict == "assumed" and p.obligation == "race"), None)
            at = at if proof is None else target(proof.place)
        else:
            proof = next((p for p in proofs if p.place == untiled.at.span and p.keeps_check), None)
        return wording.obstacle(untiled.obstacle, at, proof)

    def _accesses(self, region: DeviceRegion) -> Iterator[MemoryAccess]:
        """Reads and writes, each place once."""
        parallel, variations = region.parallel, region.variations
        chosen = region.tiling or (region.untiled.best if region.untiled is not None else None)
        dimensions = len(parallel.box)
        vector = dimensions - 1 if chosen is None else chosen.vector
        probe = Tiling(vector, 2, 1, (1,) * dimensions, tuple(range(dimensions)))  # patterns do not depend on widths
        turning = bool(region.turned) or (region.tiling is None and region.unstreamed is not Unstreamed.IN_WAVES)
        estimate = Estimate(parallel, variations, self.surroundings.vector_bytes, turning)
        inner = {value for operation in operations_of(parallel.body) for value in operation.results if value.name is None}
        seen: set[tuple[str, bool, str]] = set()
        for operation in operations_of(parallel.body):
            if not isinstance(operation, Load | Store):
                continue
            place = target(operation.span)
            pattern = _PATTERNS[estimate.pattern(operation, probe)]
            key = place.text, isinstance(operation, Store), pattern
            if key in seen or (operation.array in inner and operation.array not in self.arrays):
                continue
            seen.add(key)
            advice = ""
            if pattern in ("strided", "gathered") and chosen is not None:
                along = [variations.of(index) for index in operation.indices]
                advice = wording.access_advice(self._array(operation.array), operation, along, vector, indices(parallel))
                swap = self._swap(region, operation, estimate, probe)
                advice = advice if swap is None else wording.swap(place.text, indices(parallel), vector, swap)
            yield MemoryAccess(self._array(operation.array), place.text, place, isinstance(operation, Store), pattern, advice)

    def _swap(self, region: DeviceRegion, operation: Load | Store, estimate: Estimate, probe: Tiling) -> int | None:
        """Another dimension, in a loop whose vectors have to lie along its last one, along which an access is better."""
        if not region.parallel.reductions and region.unstreamed is not Unstreamed.IN_WAVES:
            return None
        others = (d for d in range(len(region.parallel.box)) if d != probe.vector)
        good = (Pattern.SHARED, Pattern.NEIGHBOURS)
        return next((d for d in others if estimate.pattern(operation, replace(probe, vector=d)) in good), None)

    def _array(self, array: Value) -> str:
        return self.arrays.get(array) or array.name or "an array"

    def _streaming(self, region: DeviceRegion) -> Streaming | None:
        streams = region.streams
        if streams is None:
            return None
        least = self.surroundings.last_cache // streams.bytes + 1
        iterations, row = self.sizes.iterations(region.parallel), self.sizes.extents(region.parallel)[-1]
        used = None if iterations is None or row is None else iterations >= least and row >= SHORTEST_RUN
        return Streaming(tuple(dict.fromkeys(target(store.span).text for store in streams.stores)), least, used)

    def _threads(self, region: DeviceRegion) -> Threads:
        cost = self.sizes.cost(region.work)
        return Threads(self.surroundings.threads, None if cost is None else region.alone(cost), self.sizes.pieces(region))

    def _inside(self, region: DeviceRegion, inner: Region) -> Iterator[SequentialLoop]:
        """The loops in a body, the outer ones first."""
        for operation in inner.operations:
            if isinstance(operation, typed.For | typed.While) and operation.span.text.startswith(("for", "while")):
                ends = _ends(region, operation)
                even = region.tiling is None or ends[region.tiling.vector] == 0
                yield SequentialLoop(operation.span, operation.span.text.rstrip().removesuffix(":"), _carried(operation), even)
            for deeper in operation.regions:
                yield from self._inside(region, deeper)

    # ------------------------------------------------------------------------------------------------- the host level

    def _host(self) -> Iterator[HostLoopReport]:
        yield from map(self._around, self.plan.decisions)
        yield from self._beside(self.plan.kernel.body)

    def _around(self, decision: Decision) -> HostLoopReport:
        loop, wave = decision.loop, decision.wave
        least = used = None
        if wave is not None:
            least = self.surroundings.wave_bytes
            regions = {region.parallel: region for region in self.plan.regions}
            bytes = [self._bytes(regions[p.parallel]) for p in wave.phases if p.row.dimension is not None]
            used = None if None in bytes else any(size is not None and size > least for size in bytes)
        reason = "" if wave is not None else wording.order(decision, self.plan.kernel.span)
        facts = HostLoopReport(loop.span, _header(loop), decision.parallels, wave is not None, least, used, reason, ())
        return replace(facts, sentences=tuple(wording.around(facts, decision)))

    def _bytes(self, region: DeviceRegion) -> int | None:
        """The bytes of a loop's arrays."""
        total = 0
        for array in region.captures:
            if isinstance(array.type, ArrayType):
                shape = self.sizes.shape(array)
                if shape is None or None in shape:
                    return None
                total += prod(size for size in shape if size is not None) * size_of(array.type.element)
        return total

    def _beside(self, region: Region) -> Iterator[HostLoopReport]:
        """Loops without parallel loops, the outermost ones."""
        for operation in region.operations:
            if isinstance(operation, Parallel):
                continue
            if isinstance(operation, typed.For | typed.While) and not _launches(operation):
                facts = HostLoopReport(operation.span, _header(operation), 0, False, None, None, "", ())
                yield replace(facts, sentences=tuple(wording.beside(_carried(operation))))
                continue
            for inner in operation.regions:
                yield from self._beside(inner)


def indices(parallel: Parallel) -> tuple[str, ...]:
    """The user's names of a box's indices."""
    return tuple(value.name or "_" for value in parallel.body.parameters[: len(parallel.box)])


def operations_of(region: Region) -> Iterator[Operation]:
    """All operations of a region and of those inside."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from operations_of(inner)


def _conditions(region: Region) -> Iterator[tuple[Parallel, Value]]:
    """The loops that have a version with tests beside them, with what decides."""
    for operation in region.operations:
        if isinstance(operation, typed.If) and any(isinstance(o, Parallel) and o.fallback for o in operation.orelse.operations):
            yield from ((o, operation.condition) for o in operation.then.operations if isinstance(o, Parallel))
        if not isinstance(operation, Parallel):
            for inner in operation.regions:
                yield from _conditions(inner)


def _header(loop: typed.For | typed.While) -> str:
    return loop.span.text.rstrip().removesuffix(":")


def _reduced(parallel: Parallel) -> tuple[str, ...]:
    """The names of what a loop reduces to."""
    return tuple(dict.fromkeys(value.name for value in parallel.results if value.name))


def _carried(loop: typed.For | typed.While) -> tuple[str, ...]:
    """The names of what a loop carries from step to step."""
    parameters = loop.body.parameters[1:] if isinstance(loop, typed.For) else loop.body.parameters
    names = (value.name for value in parameters if value.name)
    return tuple(dict.fromkeys(name for name in names if not name.startswith("#")))  # `#result` is none of the user's


def _ends(region: DeviceRegion, loop: typed.For | typed.While) -> Variation:
    """Along what iterations may leave a loop at different times."""
    if isinstance(loop, typed.For):
        return region.variations.ends(loop)
    return region.variations.along((*loop.condition.yields, *(loop.body.yields[:1] if loop.stops else ())))


def _branches(region: DeviceRegion) -> list[Span]:
    """The branches of which neighbouring iterations may take different ones."""
    if region.tiling is None or region.tiling.lanes == 1:
        return []
    found = [o for o in operations_of(region.parallel.body) if isinstance(o, typed.If) and _both(o)]
    return [o.span for o in found if region.variations.of(o.condition)[region.tiling.vector] != 0]


def _both(branch: typed.If) -> bool:
    """Whether a branch is one of the text: there is something to do in it."""
    return any(inner.operations for inner in branch.regions)


def _launches(operation: Operation) -> bool:
    return any(isinstance(o, Parallel) for inner in operation.regions for o in operations_of(inner))
