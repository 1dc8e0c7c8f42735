"""Generated kernels: none is accepted that enumeration finds racy, out of bounds or uninitialised.

`python -m tests.fuzz.proofs.campaign 20000` judges more of them, at more sizes.
"""

from __future__ import annotations

import collections

import pytest
from oracle import Finding

from .check import check, compiled, generated

SLICES, EACH = 15, 100
SIZES = [(0, 0), (1, 1), (1, 3), (2, 2), (3, 1), (3, 4), (4, 2), (5, 5), (6, 3)]
OUTCOMES: collections.Counter[str] = collections.Counter()


@pytest.mark.parametrize("part", range(SLICES))
def test_no_generated_kernel_is_accepted_wrongly(part: int) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        source, affine = generated(seed)
        try:
            outcome = check(source, seed, SIZES, affine)
            OUTCOMES[outcome.kind] += 1
            if outcome.kind == "accepted" and seed % 10 == 0:
                compiled(source, seed, SIZES[2:7])
        except Finding as finding:
            raise Finding(finding.kind, f"seed {seed}\n{source}\n{finding}") from finding


def test_the_generator_is_worth_its_time() -> None:
    judged = sum(OUTCOMES.values())
    if judged < SLICES * EACH // 2:
        pytest.skip("the kernels were judged by another process")
    print(f"{judged} kernels: {dict(OUTCOMES)}")
    assert OUTCOMES["accepted"] > judged // 5
    assert OUTCOMES["refused"] > judged // 5
    assert OUTCOMES["false alarm"] < judged // 20
    assert OUTCOMES["invalid"] < judged // 10
