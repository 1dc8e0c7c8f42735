"""How many of the array accesses in `tests/run` and `examples` need no check: all whose subscripts are affine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lend.checks.check_bounds import BoundsFinding
from lend.driver.kernel import Kernel
from lend.driver.pipeline import run
from lend.model.records import Model

ROOT = Path(__file__).resolve().parents[2]
FILES = [*sorted((ROOT / "tests" / "run").glob("test_*.py")), *sorted((ROOT / "examples").glob("*.py"))]

CHECKED_ON_PURPOSE = {
    # Kernels that are there to fail, or whose subscripts are out of range for the sizes of a call.
    "test_bounds_faults",
    "test_arithmetic_faults",
}


def load(path: Path) -> ModuleType:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"share_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def findings(kernel: Kernel[Any, Any]) -> Iterator[tuple[BoundsFinding, Model]]:
    """The bounds of a kernel's accesses, as far as its types are known without a call."""
    known = kernel._definition.known_types()
    if known is None:
        return
    compilation = run(kernel._definition.compilation(*known), until="check")
    assert compilation.judgement is not None
    for finding in compilation.judgement.bounds:
        if finding.access.operation.site is not None:
            yield finding, compilation.judgement.model


def is_affine(finding: BoundsFinding, model: Model) -> bool:
    """Whether the subscripts and the extents of the loops around are linear in indices, sizes and scalars."""
    access = finding.access
    mentioned = {n for d in access.bounds for e in (d.index, d.size) for n in e.names()}
    closure = set(model.space.closure({*mentioned, *access.scope.threads, *access.scope.counters}))
    return not closure & (model.space.names.opaque | model.space.names.free) and access.scope.exact


def test_all_affine_accesses_are_proved_or_decided_at_launch(capsys: pytest.CaptureFixture[str]) -> None:
    total = free = affine = 0
    left: list[str] = []
    for path in FILES:
        if path.stem in CHECKED_ON_PURPOSE:
            continue
        for kernel in {id(v): v for v in vars(load(path)).values() if isinstance(v, Kernel)}.values():
            for finding, model in findings(kernel):
                needs_no_check = finding.decision.kind in ("never", "when")
                total, free = total + 1, free + needs_no_check
                if is_affine(finding, model):
                    affine += 1
                    if not needs_no_check:
                        span = finding.access.operation.span
                        left.append(f"{path.name}:{span.line} {kernel.__name__}: {span.text} ({finding.decision.reason})")
    with capsys.disabled():
        print(f"\n{total} accesses: {free} ({free / total:.0%}) proved or launch; {affine} affine, {len(left)} of them checked")
    assert affine > 300
    assert not left, "\n".join(left)
