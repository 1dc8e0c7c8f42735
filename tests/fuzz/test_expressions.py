"""Generated expressions of all scalar types: compiled code, plain Python and NumPy agree to the bit.

`python -m tests.fuzz.campaign 2000 --only expressions` checks more of them.
"""

from __future__ import annotations

from choices import Choices, choices
from expression_check import Tally, check, expressions, smallest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import Finding

KERNELS, EACH, DEPTH = 150, 6, 3
TALLY = Tally()


@settings(
    max_examples=KERNELS,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # `smallest` reduces much faster than Hypothesis could
    suppress_health_check=list(HealthCheck),
)
@given(choices(), st.integers(0, 2**16))
def test_expressions_mean_the_same_everywhere(decisions: Choices, seed: int) -> None:
    nodes = expressions(decisions, EACH, DEPTH)
    try:
        check(list(nodes), seed, TALLY)
    except Finding as finding:
        least = smallest(nodes, seed)
        if least is None:
            raise
        raise Finding(least[1].kind, f"{least[0].text} ({least[0].type}), values of seed {seed}\n{least[1]}") from finding


def test_most_generated_expressions_are_accepted() -> None:
    tally = Tally()
    from choices import seeded

    for seed in range(5):
        check(expressions(seeded(seed), 12, DEPTH), seed, tally)
    assert tally.accepted > 9 * tally.refused
    assert tally.numpy > tally.accepted // 4
