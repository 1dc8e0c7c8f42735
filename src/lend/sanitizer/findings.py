"""Words for what the judge has seen.

Does: make a `Finding` of each thing seen: one sentence, the places with who was there, the calls that led to them.
Does not: find anything, or lay out source lines (`diagnostics/render.py`).
Invariants: codes are those of the proofs' errors, so that `lend explain` speaks of both.

Example: "two threads of block b=0 touch `s[3]` with no barrier between", "thread t=3 writes it here", "thread t=2 reads it here".
"""

from __future__ import annotations

from collections.abc import Sequence

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.sanitizer.judge import Seen
from lend.sanitizer.memory import Actor
from lend.sanitizer.program import Place
from lend.sanitizer.report import Finding, Where

CODES = {"bounds": "L0301", "init": "L0320", "arith": "L0330", "barrier": "L0350", "stuck": "L0490"}
RACES = {"iterations": "L0310", "threads": "L0312", "blocks": "L0313"}
ARITHMETIC = {
    "floordiv": "integer division by zero",
    "mod": "integer modulo by zero",
    "shl": "a shift by a negative count",
    "shr": "a shift by a negative count",
    "pow": "an integer to a negative power",
    "step": "a range with step zero",
}


def finding(seen: Seen, places: Sequence[Place], run: int) -> Finding:
    """What was seen, in words."""
    place = places[seen.at]
    match seen.kind:
        case "race":
            return _race(seen, places, run)
        case "barrier":
            return _barrier(seen, places, run)
        case "bounds":
            message, label = _outside(seen, place)
        case "init":
            message = f"{_element(seen)} is read, and nothing has been written to it"
            label = f"{_subject(seen.actor, place)}reads it here"
        case "arith":
            message = ARITHMETIC[seen.detail[0]]
            label = f"in {_who(seen.actor, place)}" if seen.actor is not None else "here"
        case "stuck":
            message = "the run takes too many steps"
            label = f"{_subject(seen.actor, place)}was here when they ran out"
    diagnostic = Diagnostic(CODES[seen.kind], message, Label(place.span, label), (), _calls(place))
    return Finding(seen.kind, (_where(place.span, seen.actor),), seen.array, seen.indices, run, diagnostic)


def _outside(seen: Seen, place: Place) -> tuple[str, str]:
    dimension, size = seen.detail
    operation = place.operation
    view = isinstance(operation, typed.View)
    index: int = seen.indices[0 if view else dimension]
    what = (
        "slice bound" if isinstance(operation, typed.View) and isinstance(operation.parts[dimension], typed.Extent) else "index"
    )
    message = f"{what} {index} is out of bounds for dimension {dimension} of `{seen.array}`, which has size {size}"
    return message, f"{_subject(seen.actor, place)}{_verb(place)} " + (f"`{seen.array}`" if view else _element(seen))


def unwritten(parameter: typed.Parameter, indices: tuple[int, ...], run: int) -> Finding:
    """An element of an `Out` array that the kernel has not written."""
    element = f"`{parameter.name}[{', '.join(map(str, indices))}]`"
    label = Label(parameter.value.span, "lent to be written whole")
    diagnostic = Diagnostic("L0321", f"{element} is left unwritten, and `{parameter.name}` is an `Out` array", label)
    return Finding("init", (_where(parameter.value.span, None),), parameter.name, indices, run, diagnostic)


# --------------------------------------------------------------------------------------------------------- races


def _race(seen: Seen, places: Sequence[Place], run: int) -> Finding:
    assert seen.other is not None and seen.actor is not None
    between, other_writes = seen.detail
    now = (seen.actor, places[seen.at])
    old = (seen.other.actor, places[seen.other.operation])
    now_writes = isinstance(now[1].operation, typed.Store)
    ends = (
        [(old, other_writes), (now, now_writes)] if other_writes and not now_writes else [(now, now_writes), (old, other_writes)]
    )
    if now_writes and other_writes:  # told in the order of the source, whoever came first
        ends.sort(key=lambda end: (end[0][1].span.line, end[0][1].span.column, end[0][0].team.indices, end[0][0].indices))
    (first, _), (second, second_writes) = ends
    short = between == "threads"
    texts = [f"{_who(first[0], first[1], short)} writes it here"]
    texts.append(f"{_who(second[0], second[1], short)} {'writes' if second_writes else 'reads'} it here")
    labels = [Label(end[1].span, text) for end, text in zip((first, second), texts, strict=True)]
    if first[1].span == second[1].span:
        label = f"{texts[0]}, and {_who(second[0], second[1], short)} {'writes' if second_writes else 'reads'} it too"
        labels = [Label(first[1].span, label)]
    if between == "threads":
        block = _indices(first[1].blocks, first[0].team.indices)
        message = f"two threads of block {block} touch {_element(seen)} with no barrier between"
    elif between == "blocks":
        message = f"two blocks touch {_element(seen)}, and nothing orders blocks"
    else:
        message = f"two iterations touch {_element(seen)}, and nothing orders iterations"
    notes = tuple(dict.fromkeys((*_calls(first[1]), *_calls(second[1]))))
    diagnostic = Diagnostic(RACES[between], message, labels[0], tuple(labels[1:]), notes)
    where = tuple(_where(place.span, actor) for actor, place in (first, second))
    return Finding("race", where, seen.array, seen.indices, run, diagnostic)


def _barrier(seen: Seen, places: Sequence[Place], run: int) -> Finding:
    assert seen.other is not None and seen.actor is not None
    place, other = places[seen.at], places[seen.other.operation]
    first, second = seen.actor, seen.other.actor
    (ended,) = seen.detail
    if not ended and not _waits(place) and _waits(other):
        place, other, first, second = other, place, second, first
    subgroup = isinstance(place.operation, typed.Subgroup)
    what = "sub-group operation" if subgroup else "barrier"
    block = _indices(place.blocks, first.team.indices)
    message = f"not all threads of {'a sub-group' if subgroup else 'a block'} come to this {what} (block {block})"
    who = _who(second, place, True)
    if ended:
        text = f"{who} ends without it"
    elif other.operation is place.operation:
        text = ""
    else:
        text = f"{who} {_stands(other)}"
    primary = f"{_who(first, place, True)} {_stands(place)}"
    if not text:
        primary += f", and {who} in another iteration of a loop around it"
    labels = (Label(other.span, text),) if text else ()
    diagnostic = Diagnostic(CODES["barrier"], message, Label(place.span, primary), labels, _calls(place))
    where = (_where(place.span, first), _where(other.span, second))
    return Finding("barrier", where, None, (), run, diagnostic)


# ------------------------------------------------------------------------------------------------------ the words


def _element(seen: Seen) -> str:
    return f"`{seen.array}[{', '.join(map(str, seen.indices))}]`"


def _verb(place: Place) -> str:
    match place.operation:
        case typed.Store():
            return "writes"
        case typed.Atomic():
            return "changes"
        case typed.View():
            return "takes a view of"
        case _:
            return "reads"


def _indices(names: Sequence[str], indices: Sequence[int]) -> str:
    return ", ".join(f"{name}={index}" for name, index in zip(names, indices, strict=False))


def _who(actor: Actor | None, place: Place, short: bool = False) -> str:
    """`thread t=3 of block b=0`, `block b=0`, `iteration i=2`. short: without the block."""
    if actor is None:
        return "the host level"
    if place.threads and actor.number >= 0:
        block = "" if short else f" of block {_indices(place.blocks, actor.team.indices)}"
        return f"thread {_indices(place.threads, actor.indices)}{block}"
    return f"{'block' if actor.number < 0 else 'iteration'} {_indices(place.blocks, actor.team.indices)}"


def _subject(actor: Actor | None, place: Place) -> str:
    return f"{_who(actor, place)} "


def _stands(place: Place) -> str:
    """What a thread does at a barrier, or at the one that follows a branch or a loop with barriers."""
    return "waits here" if _waits(place) else "waits behind this"


def _waits(place: Place) -> bool:
    return isinstance(place.operation, typed.Sync | typed.Subgroup)


def _calls(place: Place) -> tuple[str, ...]:
    """The calls that lead to a place, innermost first."""
    return tuple(f"called from {span.source.filename}:{span.line}" for span in reversed(place.calls))


def _where(span: Span, actor: Actor | None) -> Where:
    block = None if actor is None else actor.team.indices
    thread = None if actor is None else actor.indices
    return Where(span.source.filename, span.line, block, thread)
