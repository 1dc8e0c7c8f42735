"""Slices of one array that are lent to another kernel: no call runs in which they overlap, and none is stopped for nothing."""

from __future__ import annotations

import collections
import itertools
import linecache

import numpy as np
import pytest
from choices import seeded

import lend
from lend import Kernel

from .loans import Lending, lending

EACH = 25
NUMBERS = (-1, 0, 1, 2, 3, 5)
SIZES = (0, 1, 2, 3, 4, 5, 6, 8)
HEADER = "import lend\nfrom lend import Mut, Ref, f64, i64\nfrom lend.dims import K, M, N\n"


def defined(source: str, name: str) -> Kernel[..., None]:
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Kernel[..., None]] = {}
    exec(compile(source, name, "exec"), names)
    return names["lender"]


def found(kernel: Kernel[..., None], size: int, a: int, b: int) -> str:
    """How a call ends. What a later turn of a loop would run into may end it before that one does."""
    try:
        kernel(np.zeros(size), a, b)
    except lend.ContractError:
        return "contract"
    except lend.BoundsError:
        return "bounds"
    except lend.BorrowError:
        return "alias"
    return "end"


def judged(one: Lending, seed: int) -> str:
    """The verdict on a kernel, after all its calls have been looked at."""
    calls = list(itertools.product(SIZES, NUMBERS, NUMBERS))
    try:
        kernel = defined(HEADER + one.source, f"<loans {seed}>")
        (verdict,) = (p.verdict for p in kernel.proofs() if p.obligation == "alias")
    except lend.CompileError as refused:
        if "L0407" not in str(refused):
            return "refused for another reason"
        return "refused" if any(one.ending(*call) == "alias" for call in calls) else "false alarm"
    for call in calls:
        expected, ending = one.ending(*call), found(kernel, *call)
        assert ending != "end" or expected == "end", f"seed {seed}, {call}: {expected} expected\n{one.source}"
        assert ending != "alias" or expected != "end", f"seed {seed}, {call}: stopped for nothing\n{one.source}"
    return verdict


@pytest.mark.parametrize("part", range(4))
def test_no_call_runs_with_slices_that_overlap(part: int) -> None:
    kinds = collections.Counter(judged(lending(seeded(f"loans {seed}")), seed) for seed in range(part * EACH, (part + 1) * EACH))
    print(dict(kinds))
    assert kinds["proved"] > 0 and kinds["launch"] > EACH // 5
    assert kinds["false alarm"] < EACH // 5
