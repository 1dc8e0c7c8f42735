"""Places where a run-time check can fail.

Does: name what failed and where, for the table that a compiled kernel carries.  Does not: hold the values (the fault record does,
see `language/abi.py`).
"""

from __future__ import annotations

from typing import Literal

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span

SiteKind = Literal[
    "bounds",  # a subscript outside its dimension: `array`, `access`; the fault record holds dimension, index, size
    "slice",  # a slice outside its dimension (index = the bad bound)
    "division",  # integer division or modulo by zero
    "shift",  # a negative shift count (index = the count)
    "exponent",  # a negative exponent of an integer power (index = the exponent)
    "step",  # a zero step of a range or a grid
    "contract",  # a kernel called by this one refuses: `text` is the condition as written
    "race",  # iterations of a parallel loop are not independent in this run: `text` says when they are
    "alias",  # what a kernel called by this one borrows overlaps: `text` says when it does not
    "launch",  # a scalar is larger than what the proofs hold for: `text` says which
    "shape",  # sizes that must agree do not: `text` says which; index and size are the two values
    "view",  # a reshape of an array whose elements do not lie in order: `array`
    "extent",  # a negative size of a temporary (index = the size)
    "index",  # an element that is no index: `array`, `text` is the bound as written; index is its place, size the element
    "unique",  # two equal elements of `array` where indices must differ: index and size are their places
    "memory",  # no memory for a temporary (size = the bytes asked for)
]


Access = Literal["read", "write"]


@dataclass(frozen=True, eq=False)
class Site:
    """A place where a run-time check can fail; a fault record holds its position in `Kernel.sites`."""

    kind: SiteKind
    span: Span
    array: str | None = None  # the user's name of the array, for bounds, slice and view
    access: Access | None = None
    text: str | None = None
    threads: tuple[str, ...] = ()  # names of the enclosing parallel loop's indices, empty at host level
    calls: tuple[Span, ...] = ()  # call sites of the device functions this is inlined from, outermost first
