"""Generated kernels: none is accepted that enumeration finds racy, out of bounds or uninitialised.

`python -m tests.fuzz.proofs.campaign 20000` judges more of them, at more sizes.
"""

from __future__ import annotations

import collections

import pytest
from choices import seeded
from oracle import Finding

from .check import check, compiled, generated
from .exchanges import Exchanges

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


@pytest.mark.parametrize("part", range(3))
def test_no_kernel_that_exchanges_temporaries_is_accepted_wrongly(part: int) -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(part * EACH, (part + 1) * EACH):
        source = Exchanges(seeded(f"exchanges {seed}")).program()
        try:
            kinds[check(source, seed, [(n, 1) for n in (0, 1, 2, 3, 3, 4)], False).kind] += 1
        except Finding as finding:
            raise Finding(finding.kind, f"seed {seed}\n{source}\n{finding}") from finding
    assert kinds["accepted"] > EACH // 4 and kinds["refused"] > EACH // 10
    assert kinds["false alarm"] < EACH // 10


@pytest.mark.parametrize("part", range(2))
def test_no_kernel_that_exchanges_parts_of_an_array_is_accepted_wrongly(part: int) -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(part * EACH, (part + 1) * EACH):
        source = Exchanges(seeded(f"parts {seed}"), parts=True).program()
        try:
            kinds[check(source, seed, [(n, 1) for n in (0, 1, 2, 3, 3, 4)], False).kind] += 1
        except Finding as finding:
            raise Finding(finding.kind, f"seed {seed}\n{source}\n{finding}") from finding
    print(dict(kinds))
    assert kinds["accepted"] > EACH // 8 and kinds["refused"] > EACH // 10


def test_no_kernel_whose_iterations_exchange_names_is_accepted_wrongly() -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(7, 8 * EACH, 8):
        source, affine = generated(seed)
        try:
            kinds[check(source, seed, [(n, n) for n in (0, 1, 2, 3, 4)], affine).kind] += 1
        except Finding as finding:
            raise Finding(finding.kind, f"seed {seed}\n{source}\n{finding}") from finding
    assert kinds["accepted"] > EACH // 8 and kinds["refused"] > EACH // 2
    assert kinds["false alarm"] < EACH // 10


def test_the_generator_is_worth_its_time() -> None:
    judged = sum(OUTCOMES.values())
    if judged < SLICES * EACH // 2:
        pytest.skip("the kernels were judged by another process")
    print(f"{judged} kernels: {dict(OUTCOMES)}")
    assert OUTCOMES["accepted"] > judged // 5
    assert OUTCOMES["refused"] > judged // 5
    assert OUTCOMES["false alarm"] < judged // 20
    assert OUTCOMES["invalid"] < judged // 10
