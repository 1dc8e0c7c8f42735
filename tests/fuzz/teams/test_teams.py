"""Generated team kernels: none is accepted that the dynamic judge finds defective.

`python -m tests.fuzz.teams.campaign 5000` judges more of them.
"""

from __future__ import annotations

import collections

import pytest
from oracle import Finding

from .check import check, generated

SLICES, EACH = 20, 25
OUTCOMES: collections.Counter[str] = collections.Counter()


@pytest.mark.parametrize("part", range(SLICES))
def test_no_generated_team_kernel_is_accepted_wrongly(part: int) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        source = generated(seed)
        try:
            OUTCOMES[check(source, seed, largest=11).kind] += 1
        except Finding as finding:
            raise Finding(finding.kind, f"seed {seed}\n{source}\n{finding}") from finding


def test_the_generator_is_worth_its_time() -> None:
    judged = sum(OUTCOMES.values())
    if judged < SLICES * EACH // 2:
        pytest.skip("the kernels were judged by another process")
    print(f"{judged} kernels: {dict(OUTCOMES)}")
    assert OUTCOMES["accepted"] > judged // 6
    assert OUTCOMES["refused"] > judged // 3
    assert OUTCOMES["false alarm"] < judged // 20
    assert OUTCOMES["invalid"] < judged // 10
