"""What `lend check` found in a file, as plain data: the one thing that text, JSON and page are made from.

Does: name the fields (docs/check.md is their page) and fill them from verdicts.  Does not: import files or lay anything out.
Invariants: lines and columns count from 1, ends are exclusive; fields may be added in one `VERSION`, never renamed or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.proofs import Proof, Proofs, UncheckedBlock, Witness
from lend.diagnostics.render import render_json, render_text
from lend.diagnostics.spans import Source, Span

VERSION = 1


class Place(TypedDict):
    """A stretch of a file."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class WitnessEntry(TypedDict):
    """Values for which an obligation fails; `text` says them in words."""

    sizes: dict[str, int]
    threads: list[dict[str, int]]
    element: list[int]
    text: str


class ProofEntry(Place):
    """One obligation. `keeps_check`: whether a test can run for it."""

    kernel: str
    obligation: str
    verdict: str
    subject: str
    reason: str
    condition: str | None
    witness: WitnessEntry | None
    keeps_check: bool


class UncheckedEntry(Place):
    """A `lend.unchecked` block: its header."""

    kernel: str
    reason: str


class KernelEntry(Place):
    """A kernel's judgement for one choice of types and compile-time values; the place is its name's.

    status: "open" is a kernel whose types are not known before its first call; `note` says why.
    """

    kernel: str
    status: Literal["accepted", "refused", "open"]
    choices: dict[str, str]
    note: str | None
    counts: dict[str, int]
    proofs: list[ProofEntry]
    unchecked: list[UncheckedEntry]
    diagnostics: list[dict[str, Any]]


class Ended(TypedDict):
    """Why an import ended early. kind: "refused" (it used a refused kernel), "exit" (it called sys.exit) or "error"."""

    kind: Literal["refused", "exit", "error"]
    line: int | None
    message: str
    traceback: str | None


class Report(TypedDict):
    """Everything about a file. `diagnostics`: of refused kernels that are written in other files."""

    version: int
    file: str
    kernels: list[KernelEntry]
    diagnostics: list[dict[str, Any]]
    ended: Ended | None


# ------------------------------------------------------------------------------------------------ filling it


def kernel_entry(
    python: Callable[..., Any],
    status: Literal["accepted", "refused", "open"],
    proofs: Proofs,
    choices: dict[str, str],
    diagnostics: Sequence[Diagnostic] = (),
    note: str | None = None,
) -> KernelEntry:
    """A kernel's entry."""
    name = python.__qualname__.replace("<locals>.", "")
    return {
        "kernel": name,
        **_definition(python),
        "status": status,
        "choices": choices,
        "note": note,
        "counts": {str(verdict): count for verdict, count in proofs.counts.items()},
        "proofs": [_proof(name, proof) for proof in proofs],
        "unchecked": [_unchecked(name, block) for block in proofs.unchecked],
        "diagnostics": diagnostic_entries(diagnostics),
    }


def diagnostic_entries(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Diagnostics as data; `rendered` is the text that `CompileError` shows."""
    return [
        {**plain, "rendered": render_text([diagnostic], colour=False)}
        for plain, diagnostic in zip(render_json(diagnostics), diagnostics, strict=True)
    ]


def _definition(python: Callable[..., Any]) -> Place:
    """Where a function's name stands; its first line where it has none."""
    import linecache

    code = python.__code__
    source = Source(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    for line in range(code.co_firstlineno, code.co_firstlineno + 100):  # decorators come first
        text = source.line(line)
        column = text.find(f"def {code.co_name}")
        if column >= 0:
            return _place(Span(source, line, column + 4, line, column + 4 + len(code.co_name)))
    return _place(Span(source, code.co_firstlineno, 0, code.co_firstlineno, 0))


def _place(span: Span) -> Place:
    return {
        "file": span.source.filename,
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
    }


def _proof(kernel: str, proof: Proof) -> ProofEntry:
    return {
        "kernel": kernel,
        **_place(proof.place),
        "obligation": proof.obligation,
        "verdict": proof.verdict,
        "subject": proof.subject,
        "reason": proof.reason,
        "condition": proof.condition,
        "witness": _witness(proof.witness),
        "keeps_check": proof.keeps_check,
    }


def _witness(witness: Witness | None) -> WitnessEntry | None:
    if witness is None:
        return None
    threads = [dict(thread) for thread in witness.threads]
    return {"sizes": dict(witness.sizes), "threads": threads, "element": list(witness.element), "text": str(witness)}


def _unchecked(kernel: str, block: UncheckedBlock) -> UncheckedEntry:
    return {"kernel": kernel, **_place(block.place), "reason": block.reason}


# ------------------------------------------------------------------------------------------------ reading it


def unmet(entry: KernelEntry) -> int:
    """How many obligations keep `--require proved` from being met; an open kernel counts as one."""
    if entry["status"] == "refused":
        return 0
    return sum(proof["keeps_check"] for proof in entry["proofs"]) + (entry["status"] == "open")


def because(proof: ProofEntry) -> str:
    """Condition, reason and a failing example in one line."""
    parts = [f"if {proof['condition']}" if proof["condition"] else "", proof["reason"]]
    witness = proof["witness"]
    if witness is not None:
        parts.append(f"{'fails' if proof['verdict'] == 'refuted' else 'else it fails'} for {witness['text']}")
    return "; ".join(filter(None, parts))


def title(entry: KernelEntry) -> str:
    """A kernel's name, and what tells this judgement from others of it."""
    choices = ", ".join(f"{name}={value}" for name, value in entry["choices"].items())
    return f"{entry['kernel']} ({choices})" if choices else entry["kernel"]
