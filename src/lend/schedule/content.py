"""Which temporaries may begin with any content.

Does: find those of `lend.empty` for which it is proved that nothing is read before it is written.  Does not: prove anything.
Invariants: a temporary that is returned, or reached by a read whose finding is less than "never fails", is not among them; it
begins with zeros, as the text of a kernel whose promise (`lend.unchecked`) is wrong says.
"""

from __future__ import annotations

from lend.checks.judge import Judgement
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ArrayType


def written_first(kernel: typed.Kernel, judgement: Judgement) -> frozenset[Value]:
    """The temporaries that need no clearing."""
    model = judgement.model
    roots, base = model.aliases.roots, model.aliases.base
    unsure: set[Value] = set()
    for value in kernel.body.yields:
        if isinstance(value.type, ArrayType):
            unsure |= roots[base[value]]
    settled = {finding.read for finding in judgement.init if finding.decision.kind == "never"}
    for access in model.accesses:
        if isinstance(access.operation, typed.Load) and access not in settled:
            unsure |= roots[base[access.root]]
    return frozenset(model.unwritten - unsure)
