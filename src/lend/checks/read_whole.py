"""Index arrays all of whose elements a kernel reads, whatever happens.

Does: find them, as `check_init.py` finds `Out` arrays that are written whole.  Does not: decide what that is good for.
Invariants: an array is among them only if it is proved for all sizes that each element is read.
"""

from __future__ import annotations

from lend.checks.check_init import coverage, elements
from lend.checks.judge import Judgement
from lend.ir import typed
from lend.ir.typed import Value


def read_whole(judgement: Judgement) -> frozenset[Value]:
    """Parameters that are `Index` arrays of one dimension and read whole."""
    model = judgement.model
    inside = {id(finding.access) for finding in judgement.bounds if finding.decision.kind == "never"}
    found: set[Value] = set()
    for parameter in judgement.kernel.parameters:
        root = parameter.value
        if parameter.index is None or parameter.index[0] != "index" or root.array.dimensions != 1:
            continue
        reads = [
            access
            for access in model.accesses
            if access.root is root
            and isinstance(access.operation, typed.Load)
            and access.element is not None
            and id(access) in inside
        ]
        if not reads:
            continue
        decision = coverage(model, root, reads, elements(model, root))
        sizes = all(model.space.names.launch.get(name) in model.sizes for name in decision.assumptions)
        if decision.kind == "never" and sizes:
            found.add(root)
    return frozenset(found)
