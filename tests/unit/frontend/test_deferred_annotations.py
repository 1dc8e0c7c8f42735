"""Annotations in quotes in a module whose annotations are deferred: text within text."""

from __future__ import annotations

import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.struct
class Pair:
    x: "f64"  # noqa: UP037
    y: f64


@lend.kernel
def added(pairs: "Ref[Pair, N]", y: "Mut[f64, N]", by: f64) -> "f64":  # noqa: UP037
    for i in lend.grid(N):
        y[i] = pairs[i].x + by
    return by


def test_text_within_text_is_read() -> None:
    y = np.zeros(2)
    assert added(np.ones(2, Pair.dtype), y, 2.0) == 2.0
    assert y.tolist() == [3.0, 3.0]
