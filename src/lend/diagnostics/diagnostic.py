"""One message to the user: what is wrong, where, and what to write instead.

Does: hold the parts of a message.  Does not: decide or render anything.
Invariants: the primary label makes sense alone; there is at most one fix.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span


@dataclass(frozen=True)
class Label:
    """A span and the words beside its carets."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """A user error: code (`L0201`), one sentence, a primary label, further labels, notes, one fix."""

    code: str
    message: str
    primary: Label
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    fix: str | None = None
