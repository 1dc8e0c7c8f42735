"""The words of `kernel.explain`: sentences on choices, obstacles and what to do about them, in one place.

Does: word what `report.py` has gathered.  Does not: decide.
Invariants: sentences name the user's loops, arrays and lines; nothing of how the compiler is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from lend.checks.places import target
from lend.diagnostics.explanation import HostLoopReport, LoopReport, Obstacle, ObstacleKind, Sentence, SequentialLoop
from lend.diagnostics.proofs import Proof
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.ir.typed import If, Load, Local, Parallel, Region, Store
from lend.language.reduction import BLOCK, LANES
from lend.language.types import Layout, size_of
from lend.plan import tiling
from lend.plan.by_rows import ROWS, ByRows
from lend.plan.regions import CHUNK_WORK, CHUNKS, DeviceRegion
from lend.plan.streams import SHORTEST_RUN, Unstreamed
from lend.plan.variation import Variation
from lend.plan.waves import Decision, Order

MOST_NAMED = 5
"""Accesses that one sentence names."""


# ------------------------------------------------------------------------------------------------------------------ loops


def sentences(
    loop: LoopReport, region: DeviceRegion, branches: Sequence[Span], wave: HostLoopReport | None, kernel: Span
) -> Iterator[Sentence]:
    """What is to be said of a parallel loop, the most important first. `wave`: the loop around it that may run in waves."""
    if region.parallel.team:
        yield from _team(region, kernel)
    else:
        yield "vectors", _vectors(loop)
    if region.by_rows is not None:
        yield "rows", _by_rows(loop, region.by_rows, kernel)
    for advice in loop.advice:
        yield "faster", advice
    if loop.condition is not None:
        yield "tests", _tests(loop)
    if loop.obstacle is None or loop.obstacle.kind == "cost":
        yield from _memory(loop)
    for place in branches[:MOST_NAMED]:
        yield "branch", f"{_line(place, kernel)} may go either way within a vector, so that both ways run"
    for inner in loop.inside[:MOST_NAMED]:
        yield "inside", _inside(inner, loop, kernel)
    if loop.reduces:
        yield "reduction", _reduction(loop)
    if loop.streaming is not None:
        yield "stores", _streaming(loop)
    elif region.unstreamed in (Unstreamed.UPDATES, Unstreamed.NOT_WHOLE_LINES) and not loop.inside:
        yield "stores", f"through the caches, since {loop.unstreamed}"
    yield "threads", _threads(loop, region, wave, kernel)


def _vectors(loop: LoopReport) -> str:
    vector = loop.vector
    apart = list(dict.fromkeys(a.text for a in loop.accesses if a.pattern in ("strided", "gathered")))
    if vector is None:
        reason = "" if loop.obstacle is None else loop.obstacle.reason
        costly = loop.obstacle is not None and loop.obstacle.kind == "cost" and apart
        return f"none are laid out: {reason}{f', since {_list(apart)} would have to be gathered' if costly else ''}"
    panel = vector.elements * vector.side_by_side
    rows = " by ".join(f"{rows} rows of `{name}`" for name, rows in loop.rows)
    if vector.elements == 1:
        why = f", since {_list(apart)} would have to be gathered" if apart else ""
        return f"none{why}; {panel} neighbouring `{vector.index}`{rows and ' by ' + rows} run side by side, one element each"
    text = f"{vector.elements} neighbouring `{vector.index}` in each"
    if loop.rows or vector.side_by_side > 1:
        total = panel * prod(count for _, count in loop.rows)
        text += f", {counted(vector.side_by_side, 'vector')}{rows and ' by ' + rows} side by side: {total} iterations at a time"
    if loop.order != loop.indices:
        text += f"; `{loop.order[0]}` in panels of {panel}, and in each {_list(loop.order[1:])} from end to end"
    return text


def _by_rows(loop: LoopReport, by_rows: ByRows, kernel: Span) -> str:
    found = [access.text for access in loop.accesses if any(load.span == access.place for load in by_rows.loads)]
    reads = _list(list(dict.fromkeys(found))) if found else "what it reads"
    steps = f"{ROWS} steps of the loop in {_line(by_rows.loop.span, kernel)} at a time"
    return f"{steps} for all iterations of a piece: {reads} as it lies in memory"


def _team(region: DeviceRegion, kernel: Span) -> Iterator[Sentence]:
    """On blocks of threads: each loop over threads, and what a block keeps."""
    places: dict[Span, list[DeviceRegion]] = {}
    for inner in region.inner:
        places.setdefault(inner.parallel.span, []).append(inner)
    for place, loops in places.items():
        if not place.text.startswith("for "):  # what sub-groups do, and clearing
            continue
        laid = [inner.tiling for inner in loops if inner.tiling is not None and inner.tiling.lanes > 1]
        names = [value.name or "_" for value in loops[0].parallel.body.parameters]
        count = stretches(region.parallel.body, place)
        parts = "one loop" if count == 1 else f"{count} loops, one for each stretch between barriers"
        text = f"those of {_line(place, kernel)} run in {parts}"
        if laid:
            wide = max(laid, key=lambda tiling: tiling.lanes)
            every = "" if len(laid) == len(loops) else "most of them " if 2 * len(laid) > len(loops) else "some of them "
            text += f", {every}in vectors of up to {wide.lanes} neighbouring `{names[wide.vector]}`"
        else:
            text += ", without vectors of lend's"
        if len(loops) > count:
            text += "; in blocks whose threads all pass a guard, nobody asks"
        yield "threads of a block", text
    shared = [o for o in region.parallel.body.operations if isinstance(o, Local)]
    if shared:
        total = sum(size_of(o.result.array.element) * prod(o.sizes) for o in shared)
        names = list(dict.fromkeys(o.result.name for o in shared if o.result.name))
        named = f", {_list(names)} among it" if names else ""
        yield "memory of a block", f"{total:,} bytes for what threads share and what they keep across barriers{named}"


def stretches(region: Region, place: Span) -> int:
    """How many loops over threads at a place there are, two versions of one counted once."""
    total = 0
    for operation in region.operations:
        if isinstance(operation, Parallel):
            total += operation.span == place
        elif isinstance(operation, If) and all(map(_versions, operation.regions)):
            total += stretches(operation.then, place)
        else:
            total += sum(stretches(inner, place) for inner in operation.regions)
    return total


def _versions(arm: Region) -> bool:
    """Whether a branch holds one version of a loop and nothing else."""
    return len(arm.operations) == 1 and isinstance(arm.operations[0], Parallel)


_PATTERNS = (
    ("neighbouring", "in whole vectors"),
    ("turned", "in whole vectors of a copy that the call makes, where they are side by side"),
    ("shared", "once for all of them"),
    ("strided", "one by one, at even distances"),
    ("gathered", "one by one, from anywhere"),
)


def _memory(loop: LoopReport) -> Iterator[Sentence]:
    for topic, writes in (("reads", False), ("writes", True)):
        parts: list[str] = []
        for pattern, words in _PATTERNS:
            found = [access.text for access in loop.accesses if access.pattern == pattern and access.writes == writes]
            single = loop.vector is None or loop.vector.elements == 1
            words = "next to each other" if single and pattern == "neighbouring" else words
            if found:
                parts.append(f"{_list(list(dict.fromkeys(found)))} {words}")
        if parts:
            yield topic, "; ".join(parts)


def _tests(loop: LoopReport) -> str:
    text = f"none if {loop.condition}, which is looked at before the loop; else a slower version with tests runs"
    return text if loop.holds is None else f"{text}: {'it holds' if loop.holds else 'it does not hold'} in this call"


def _reduction(loop: LoopReport) -> str:
    order = f"{LANES} running values in blocks of {BLOCK} iterations, combined in one fixed order"
    return f"{_list(loop.reduces)}: {order}, so that the result has the same bits on any number of threads"


def _inside(inner: SequentialLoop, loop: LoopReport, kernel: Span) -> str:
    text = f"`{inner.text}` in {_line(inner.place, kernel)} keeps its order in each iteration"
    if inner.carries:
        text += f", since {_list(inner.carries)} {'goes' if len(inner.carries) == 1 else 'go'} from step to step"
    if not inner.even and loop.vector is not None and loop.vector.elements > 1:
        text += "; a vector runs it as often as the longest of its iterations"
    return text


def _streaming(loop: LoopReport) -> str:
    streaming = loop.streaming
    assert streaming is not None
    least = f"{streaming.from_iterations:,} iterations or more, with rows of {SHORTEST_RUN} or more"
    text = f"{_list(streaming.stores)} past the caches in launches of {least}"
    return text if streaming.used is None else f"{text}: {'so in this call' if streaming.used else 'not in this call'}"


_UNSTREAMED = {
    Unstreamed.NOT_BY_ROW: "it is not done in vectors along the last index alone",
    Unstreamed.IN_WAVES: "what a step writes is read soon after, in waves",
    Unstreamed.BY_ROWS: "it is little beside the rows that are read",
    Unstreamed.READS_NOTHING: "nothing is read, so that nothing would be saved",
    Unstreamed.READS_VIEWS: "what it reads may be what it writes",
    Unstreamed.UPDATES: "it reads what it writes",
    Unstreamed.NOT_WHOLE_LINES: "it does not write one element after the other in every iteration, or several times",
    Unstreamed.LONG: "it takes longer to compute than to write",
}


def unstreamed(reason: Unstreamed) -> str:
    """Why stores go through the caches."""
    return _UNSTREAMED[reason]


def _threads(loop: LoopReport, region: DeviceRegion, wave: HostLoopReport | None, kernel: Span) -> str:
    threads = loop.threads
    if wave is not None and wave.used:
        return f"in waves, with the other loops in the one in {_line(wave.place, kernel)}"
    if threads.pieces is not None and loop.iterations is not None:
        if threads.pieces <= 1:
            if not loop.iterations:
                return "this call has no iterations"
            limit = "" if threads.alone is None else f" (from {threads.alone + 1:,} on they are shared)"
            few = "one iteration is" if loop.iterations == 1 else f"{loop.iterations:,} iterations are"
            return f"this call stays on the calling thread: {few} too few to share{limit}"
        return f"this call is cut into {threads.pieces} pieces, for up to {counted(threads.available, 'thread')}"
    if threads.alone is not None:
        return f"up to {threads.alone:,} iterations stay on the calling thread; more are cut into pieces, {CHUNKS} at most"
    return (
        f"cut into pieces of {CHUNK_WORK:,} simple operations or more, {CHUNKS} at most; an iteration takes {region.work}; "
        "what is one piece stays on the calling thread"
    )


# -------------------------------------------------------------------------------------------------------------- obstacles

_KINDS: dict[tiling.Obstacle, ObstacleKind] = {
    tiling.Obstacle.PROMISE: "unchecked",
    tiling.Obstacle.FALLBACK: "check",
    tiling.Obstacle.CHECK: "check",
    tiling.Obstacle.COMPLEX: "complex",
    tiling.Obstacle.LOCAL: "local",
    tiling.Obstacle.LOOP_STEP: "step",
    tiling.Obstacle.GRID_STEP: "step",
    tiling.Obstacle.VIEW: "view",
    tiling.Obstacle.ARRAYS: "size",
    tiling.Obstacle.COST: "cost",
    tiling.Obstacle.ATOMIC: "atomic",
    tiling.Obstacle.TEAM: "team",
    tiling.Obstacle.NONE_FITS: "size",
}


def obstacle(kind: tiling.Obstacle, at: Span, proof: Proof | None) -> Obstacle:
    """What keeps a loop from being laid out in vectors; `proof`: of the check that is left, or of the promise."""
    reason, advice = _obstacle(kind, at, proof)
    return Obstacle(_KINDS[kind], at, reason, advice)


def _obstacle(kind: tiling.Obstacle, at: Span, proof: Proof | None) -> tuple[str, str]:
    here = f"`{at.text.removesuffix(':')}` in line {at.line}"
    match kind:
        case tiling.Obstacle.PROMISE:
            where = "" if proof is None else f" ({here})"
            return (
                f"that its iterations are independent is only promised by `lend.unchecked`{where}",
                "a loop whose iterations are proved to be independent is laid out in vectors: see docs/proofs.md",
            )
        case tiling.Obstacle.CHECK | tiling.Obstacle.FALLBACK:
            why = "" if proof is None else f": {proof.reason}" if proof.reason else f", which passes if {proof.condition}"
            advice = f"prove {here}, by an index type, a guard or a contract (docs/proofs.md): then the loop runs in vectors"
            return f"{here} keeps a test at run time{why}", advice if proof is not None else ""
        case tiling.Obstacle.COMPLEX:
            return (
                f"{here} computes with complex numbers",
                "real and imaginary parts in arrays of their own can be laid out in vectors",
            )
        case tiling.Obstacle.LOCAL:
            return f"{here} makes a private array", "scalars instead of a short private array can be laid out in vectors"
        case tiling.Obstacle.VIEW:
            advice = "write the element where it is used, or hand the whole array and the index to the function"
            return f"{here} takes another part of the array in each iteration", advice
        case tiling.Obstacle.LOOP_STEP:
            return f"the step of {here} is not a constant", "write the step as a number, or as a `comptime` parameter"
        case tiling.Obstacle.GRID_STEP:
            return "the step of the grid is not a constant", "write the step as a number, or as a `comptime` parameter"
        case tiling.Obstacle.ATOMIC:
            advice = "take sums in a shared array of each block first, or in a reduction: fewer atomic operations, and vectors"
            return f"{here} is an atomic operation, which each iteration does by itself", advice
        case tiling.Obstacle.TEAM:
            return "the iterations of blocks are whole blocks: vectors lie along their threads", ""
        case tiling.Obstacle.COST:
            return "they would cost more than they gain", ""
        case tiling.Obstacle.ARRAYS | tiling.Obstacle.NONE_FITS:
            return "its body does not fit them", ""


def access_advice(array: str, operation: Load | Store, along: Sequence[Variation], v: int, names: Sequence[str]) -> str:
    """What would let neighbouring iterations access neighbouring elements; empty if nothing simple would."""
    type, index = operation.array.array, names[v]
    text = f"`{target(operation.span).text}` in line {operation.span.line}"
    entries = [variation[v] for variation in along]
    if operation.path:
        return f"the fields of the records in `{array}` lie apart: an array for each field can be accessed in whole vectors"
    if None in entries:
        return ""
    if type.layout not in (Layout.C, Layout.F):
        if sum(entry in (1, -1) for entry in entries) == 1:
            return f"`{array}` is not contiguous ({text}): `np.ascontiguousarray({array})` would be"
        return ""
    moved = [d for d, entry in enumerate(entries) if entry]
    unit = type.dimensions - 1 if type.layout is Layout.C else 0
    if len(moved) == 1 and moved[0] != unit and entries[moved[0]] in (1, -1):
        across, other = ("column", "asfortranarray") if type.layout is Layout.C else ("row", "ascontiguousarray")
        store = f"store `{array}` transposed, or lend `np.{other}({array})`"
        return f"{text} goes down a {across} from one `{index}` to the next: {store}"
    return ""


def swap(text: str, names: Sequence[str], v: int, d: int) -> str:
    """Advice to let a loop run along another index."""
    order = list(names)
    order[v], order[d] = order[d], order[v]
    return (
        f"swap the loop indices, `for {', '.join(order)} in ...`: vectors of this loop lie along its last index, and `{text}` is "
        f"contiguous along `{names[d]}`"
    )


# ---------------------------------------------------------------------------------------------------------- the host level


def order(decision: Decision, kernel: Span) -> str:
    """What keeps the steps of a loop in order."""
    where = "" if decision.at is None else _line(decision.at.span, kernel)
    match decision.order:
        case Order.REDUCES:
            return f"each step needs the whole result of the reduction in {where}"
        case Order.READS:
            return f"each step reads an element in {where}, outside of parallel loops"
        case Order.WRITES:
            return f"each step writes an element in {where}, outside of parallel loops"
        case Order.FAILS:
            return f"what {where} does can fail, or its iterations are not proved to be independent"
        case Order.TEAMS:
            return f"each step runs blocks of threads, in {where}"
        case Order.ARRAYS:
            return f"each step makes an array, in {where}"
        case Order.MANY_PHASES:
            return f"{decision.parallels} parallel loops are too many"
        case Order.FAR | None:
            return "a step needs elements that lie far away in the one before it"


def around(loop: HostLoopReport, decision: Decision) -> Iterator[Sentence]:
    """On a loop around parallel loops."""
    if decision.wave is None:
        yield "steps", f"one after the other, each over the whole of its arrays: {loop.reason}"
        return
    axes = "rows" if decision.wave.columns is None else "rows and columns"
    most = decision.wave.rows.most
    reach = f"a step needs what lies {counted(most, 'row')} away at most" if most else "a row of a step needs that row alone"
    text = f"several at a time, in waves over {axes}, where its arrays exceed {_bytes(loop.from_bytes or 0)} ({reach})"
    yield "steps", text if loop.used is None else f"{text}: {'they do' if loop.used else 'they do not'} in this call"


def beside(carries: Sequence[str]) -> Iterator[Sentence]:
    """On a loop without parallel loops."""
    why = f", and {_list(carries)} {'goes' if len(carries) == 1 else 'go'} from step to step" if carries else ""
    yield "threads", f"one, step by step: it is an ordinary loop outside of `lend.grid`{why}"
    yield "faster", "where its steps do not need each other, `for ... in lend.grid(...)` runs them in vectors and on all threads"


# ------------------------------------------------------------------------------------------------------------------ pieces


def _line(place: Span, kernel: Span) -> str:
    """`line 7`, with the file's name if it is not the kernel's."""
    if place.source.filename == kernel.source.filename:
        return f"line {place.line}"
    return f"line {place.line} of {place.source.filename.replace(chr(92), '/').rpartition('/')[2]}"


def _list(names: Sequence[str]) -> str:
    """Names with `and`, the last ones counted where they are many."""
    shown = [f"`{name}`" for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _bytes(count: int) -> str:
    return f"{count / (1 << 20):.3g} MiB"
