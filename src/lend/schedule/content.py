"""Which temporaries may begin with any content.

Does: find those of `lend.empty` for which it is proved that nothing is read, or returned, before it is written.
Does not: prove anything.
Invariants: a temporary with a read, or a return, whose finding is less than "never fails" is not among them: it begins with
zeros, as the text of a kernel whose promise (`lend.unchecked`) is wrong says. Nor are records that are returned: they may have
gaps.
"""

from __future__ import annotations

from lend.checks.judge import Judgement
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ArrayType, ScalarType


def written_first(kernel: typed.Kernel, judgement: Judgement) -> frozenset[Value]:
    """The temporaries that need no clearing."""
    model = judgement.model
    roots, base = model.aliases.roots, model.aliases.base
    unsure: set[Value] = set()
    returned = [finding for finding in judgement.init if finding.returned]
    whole = {finding.root for finding in returned if isinstance(finding.root.array.element, ScalarType)}
    whole -= {finding.root for finding in returned if finding.decision.kind != "never"}
    for value in kernel.body.yields:
        if isinstance(value.type, ArrayType):
            unsure |= roots[base[value]] - whole
    settled = {finding.read for finding in judgement.init if finding.decision.kind == "never"}
    for access in model.accesses:
        if isinstance(access.operation, typed.Load | typed.Atomic) and access not in settled:
            unsure |= roots[base[access.root]]
    return frozenset(model.unwritten - unsure)
