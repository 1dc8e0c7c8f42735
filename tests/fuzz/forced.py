"""Tilings that nobody would choose: every legal one is to give the results of plain Python.

Does: put one at random, by a seed, where `lend.plan.regions` asks for the best.
Does not: decide what is legal; the estimate does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from unittest import mock

from choices import Choices, seeded

from lend.ir.typed import Parallel
from lend.language.reduction import LANES
from lend.plan import regions, tile_cost, tiling
from lend.plan.tiling import Obstacle, Tiling, Untiled
from lend.plan.variation import Variations

WIDTHS = ((6, 4), (6, 8), (5, 2), (3, 16), (3, 1), (1, 32), (1, 64))
MOST_TEXT = 500
"""Instructions of a tile, at most: more take LLVM too long."""


@contextmanager
def forced_tilings(seed: object) -> Iterator[Counter[str]]:
    """Parallel loops that can be tiled are tiled at random inside; gives how many were, and how."""
    choices = seeded(f"tilings {seed}")
    used: Counter[str] = Counter()

    def choose(parallel: Parallel, variations: Variations, vector_bytes: int, by_row: bool = False) -> Tiling | Untiled:
        found = random_tiling(choices, parallel, variations, vector_bytes, by_row)
        kind = "untiled" if isinstance(found, Untiled) else "lanes" if found.lanes > 1 else "jammed"
        used[kind] += 1
        return found

    with mock.patch.object(regions, "choose_tiling", choose), mock.patch.object(tile_cost, "LARGEST_TILE", MOST_TEXT):
        yield used


def random_tiling(
    choices: Choices, parallel: Parallel, variations: Variations, vector_bytes: int, by_row: bool
) -> Tiling | Untiled:
    """One of the tilings that can be written; `Untiled` if none is found, or the loop cannot be tiled."""
    refused = tiling.refusal(parallel, variations)
    if refused is not None:
        return refused
    estimate = tile_cost.Estimate(parallel, variations, vector_bytes)
    dimensions = len(parallel.box)
    some = [_any(choices, dimensions, bool(parallel.reductions)) for _ in range(12)]
    for v in range(dimensions - 1 if parallel.reductions else 0, dimensions):  # of little text
        some.append(Tiling(v, choices.pick((8, 4, 2)), 1, (1,) * dimensions, tuple(range(dimensions))))
    for found in some:
        if by_row and not found.by_row:
            continue
        if variations.constant(parallel.box[found.vector].step) is None:
            continue
        if found.volume > 1 and estimate.cost(found) is not None:
            return found
    return Untiled(Obstacle.NONE_FITS)


def _any(choices: Choices, dimensions: int, reduces: bool) -> Tiling:
    lanes = choices.often(WIDTHS)
    order = list(range(dimensions))
    if reduces:
        lanes = max(lanes, 2)
        vectors = choices.pick([n for n in (1, 2, 4, 8) if lanes * n <= LANES])
        return Tiling(dimensions - 1, lanes, vectors, (1,) * dimensions, tuple(order))
    v = choices.below(dimensions)
    vectors = choices.pick((1, 1, 2, 2, 3, 4, 8))
    jam = [1] * dimensions
    for d in range(dimensions):
        if d != v and choices.chance(45):
            jam[d] = choices.pick((2, 3, 4, 5, 8))
    while prod(jam) * vectors > 16:
        vectors, jam = max(vectors // 2, 1), [max(rows // 2, 1) for rows in jam]
    if choices.chance(50):
        for k in reversed(range(1, dimensions)):
            other = choices.below(k + 1)
            order[k], order[other] = order[other], order[k]
    return Tiling(v, lanes, vectors, tuple(jam), tuple(order))
