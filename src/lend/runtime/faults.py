"""From a fault record to the exception a user sees.

Does: word what failed, with kernel, line, iteration, array, index and size, and the calls that led there; set the exception's
attributes.  Does not: read the record from memory (`launch.py`) or decide whether there was a fault.
Invariants: every kind of site has its words here; the exceptions pickle.

Example: `saxpy: index 12 is out of bounds for dimension 0 of x, which has size 10, in iteration i=10`, then the source line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lend.diagnostics.errors import (
    ArithmeticFault,
    BorrowError,
    BoundsError,
    ContractError,
    DeviceMemoryError,
    InternalError,
    LendError,
    ShapeError,
)
from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Span
from lend.language.abi import (
    FAULT_DIMENSION,
    FAULT_INDEX,
    FAULT_INDICES,
    FAULT_SITE,
    FAULT_SIZE,
    FAULT_THREAD,
    HOST_LEVEL,
    NO_FAULT,
    NO_SITE,
    WRONG_INDEX,
)

NEGATIVE = "a negative subscript does not count from the end in a kernel: write N - 1 for the last element of size N"


class Fault(NamedTuple):
    """A fault record, read: `thread` are the loop's indices, None at host level."""

    site: Site
    thread: tuple[int, ...] | None
    dimension: int
    value: int  # the index, slice bound, count, exponent or size that failed
    size: int


def fault_of(words: Sequence[int], sites: Sequence[Site]) -> Fault:
    """The fault that the record's words (`abi.py`) hold; raises InternalError if they hold none, and what a fault without a place
    in the source says: there is no memory, or index arrays that were tested are wrong by now."""
    position, number = words[FAULT_THREAD], words[FAULT_SITE]
    if position == HOST_LEVEL and number == NO_SITE:
        raise DeviceMemoryError(f"no memory for the partial results of a parallel loop ({words[FAULT_SIZE]} bytes)")
    if number == WRONG_INDEX:
        raise BorrowError("an index array changed while it was lent: another thread writes it")
    if position == NO_FAULT or not 0 <= number < len(sites):
        raise InternalError(
            f"a kernel reported a fault but left no record of it (thread {position}, site {number} of {len(sites)})"
        )
    site = sites[number]
    thread = None if position == HOST_LEVEL else tuple(words[FAULT_INDICES : FAULT_INDICES + len(site.threads)])
    return Fault(site, thread, words[FAULT_DIMENSION], words[FAULT_INDEX], words[FAULT_SIZE])


def fault_error(kernel: str, fault: Fault) -> LendError:
    """The exception for a fault of `kernel`, to be raised by the caller."""
    site = fault.site
    lines = [f"{kernel}: {_sentence(fault)}{_iteration(fault)}", *_place(site.span, " -->")]
    for call in reversed(site.calls):
        lines += _place(call, "called from")
    if site.kind in ("bounds", "slice") and fault.value < 0:
        lines.append(f"  = note: {NEGATIVE}")
    message = "\n".join(lines)
    error: LendError
    match site.kind:
        case "bounds" | "slice":
            error = BoundsError(message)
            error.array = site.array or ""
            error.dimension, error.index, error.size = fault.dimension, fault.value, fault.size
        case "index":
            error = BoundsError(message)
            error.array, error.dimension, error.index = site.array or "", 0, fault.size
        case "unique" | "alias":
            error = BorrowError(message)
        case "division" | "shift" | "exponent" | "step":
            error = ArithmeticFault(message)
        case "contract" | "race" | "launch":
            error = ContractError(message)
        case "memory":
            error = DeviceMemoryError(message)
        case _:
            error = ShapeError(message)
    # Set on all of them: harmless where a class does not declare them, and one way to find the line by program.
    error.__dict__.update(kernel=kernel, file=site.span.source.filename, line=site.span.line, thread=fault.thread)
    return error


def _sentence(fault: Fault) -> str:
    site, array = fault.site, fault.site.array or "a temporary array"
    match site.kind:
        case "bounds":
            return f"index {fault.value} is out of bounds for dimension {fault.dimension} of {array}, which has size {fault.size}"
        case "slice":
            bound = f"slice bound {fault.value} is out of bounds"
            return f"{bound} for dimension {fault.dimension} of {array}, which has size {fault.size}"
        case "division":
            return "integer division or modulo by zero"
        case "shift":
            return f"shift by a negative count ({fault.value})"
        case "exponent":
            return f"an integer to a negative power ({fault.value})"
        case "step":
            return "a range with step zero"
        case "contract":
            return f"the contract {site.text or ''} of a kernel called here is false".replace("  ", " ")
        case "race" | "alias" | "launch":
            return site.text or "iterations of this loop race"
        case "shape":
            return f"{site.text or 'two sizes must agree'}: {fault.value} is not {fault.size}"
        case "view":
            return f"{array} cannot be reshaped in place, because its elements do not lie in order in memory"
        case "index":
            return f"lend.as_unique needs indices below {site.text or 'its bound'}, but {array}[{fault.value}] is {fault.size}"
        case "unique":
            places = f"{array}[{fault.value}] and {array}[{fault.size}]"
            return f"lend.as_unique needs indices that differ, but {places} are equal"
        case "extent":
            return f"a temporary array of negative size ({fault.value})"
        case "memory":
            return f"no memory for a temporary array of {fault.size} bytes"


def _iteration(fault: Fault) -> str:
    if not fault.thread:
        return ""
    return ", in iteration " + ", ".join(f"{name}={index}" for name, index in zip(fault.site.threads, fault.thread, strict=True))


def _place(span: Span, arrow: str) -> list[str]:
    """Where `span` is, and its line of source where that is known."""
    line = span.source.line(span.line).strip()
    return [f" {arrow} {span.source.filename}:{span.line}", *([f"   |  {line}"] if line else [])]
