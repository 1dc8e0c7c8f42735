"""`@lend.kernel(require="proved")`: a kernel that keeps a check is refused.

Does: find the checks that are left and word the refusal.  Does not: decide obligations.
Invariants: what a requirement refuses would be accepted without it.
"""

from __future__ import annotations

import re
from typing import Literal

from lend.checks.places import target
from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.proofs import Proof, Proofs
from lend.diagnostics.words import counted

Require = Literal["proved"]
"""What may be asked of a kernel: that none of its accesses and divisions keeps a test at run time."""

_COMPARISON = re.compile(r"[A-Za-z_]\w*|\d+|[-+*]|\s|<=|>=|==|<|>")


def unmet(name: str, proofs: Proofs) -> tuple[Diagnostic, ...]:
    """The refusal of a kernel that is required to be proved; nothing if it is."""
    kept = list({(p.place, p.because): p for p in proofs if p.keeps_check}.values())
    if not kept:
        return ()
    first, *others = (Label(target(p.place), _label(p)) for p in kept)
    what = f"{counted(len(kept), 'check')} {'is' if len(kept) == 1 else 'are'} left"
    message = f'`{name}` must be proved (`require="proved"`), but {what} in it'
    return (Diagnostic("L0340", message, first, tuple(others), (), _fix(kept[0])),)


def _label(proof: Proof) -> str:
    if proof.verdict == "launch":
        return f"{proof.subject}: proved only if {proof.condition}"
    return f"{proof.subject}: {proof.reason}"


def _fix(proof: Proof) -> str:
    """The nearest way to a proof of one place."""
    if proof.verdict == "launch" and proof.condition and not _COMPARISON.sub("", proof.condition):
        return f"add the contract `assert {proof.condition}` at the top of the kernel"
    if proof.obligation == "arith":
        return "guard it with a condition, or add a contract on the divisor" if "division" in proof.subject else "add a contract"
    if proof.verdict == "launch":
        return "add a contract that says so, or guard the access with a condition"
    return "guard the access with a condition on its subscripts, or read them from an array of `lend.Index[...]`"
