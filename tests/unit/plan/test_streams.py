"""Which stores go past the caches: of whole lines, of arrays that the loop does not read."""

from __future__ import annotations

from typing import Any

import pytest
from planned import region_of

import lend
from lend import Mut, Out, Ref, f32, f64
from lend.dims import M, N
from lend.plan.streams import Streams, Unstreamed


@lend.kernel
def triad(a: Ref[f64, N], b: Ref[f64, N], c: Out[f64, N]):
    for i in lend.grid(N):
        c[i] = a[i] + 3.0 * b[i]


@lend.kernel
def two_outputs(a: Ref[f32, N, M], b: Out[f32, N, M], c: Out[f32, N, M]):
    for i, j in lend.grid(N, M):
        b[i, j] = 2.0 * a[i, j]
        c[i, j] = a[i, j] + 1.0


@lend.kernel
def shifted(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N - 1):
        c[i + 1] = a[i]


@lend.kernel
def update(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        c[i] += a[i]


@lend.kernel
def fill(c: Out[f64, N]):
    for i in lend.grid(N):
        c[i] = 1.0


@lend.kernel
def sometimes(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        if a[i] > 0.0:
            c[i] = a[i]


@lend.kernel
def backwards(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        c[N - 1 - i] = a[i]


@lend.kernel
def twice(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        c[i] = a[i]
        c[i] = 2.0 * a[i]


@lend.kernel
def by_columns(a: Ref[f64, M, N], c: Mut[f64, M, N]):
    for i, j in lend.grid(N, M):
        c[j, i] = 2.0 * a[j, i]


@lend.kernel
def sum_with_store(a: Ref[f64, N], c: Mut[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        c[i] = 2.0 * a[i]
        s += a[i]
    return s


@lend.kernel
def long(a: Ref[f64, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        v = a[i]
        for k in lend.static_range(48):
            v = v * v + k
        c[i] = v


@lend.kernel
def sums_of_rows(a: Ref[f64, M, N], c: Mut[f64, N]):
    for i in lend.grid(N):
        v = 1.0
        for k in range(M):
            v = v * 0.5 + a[M - 1 - k, i] / (k + 1)
        c[i] = v


def streams_of(kernel: Any) -> Streams:
    found = region_of(kernel).streams
    assert found is not None
    return found


@pytest.mark.parametrize(("kernel", "stores", "bytes"), [(triad, 1, 24), (two_outputs, 2, 12), (shifted, 1, 16)])
def test_stores_of_whole_lines_stream(kernel: Any, stores: int, bytes: int) -> None:
    found = streams_of(kernel)
    assert len(found.stores) == stores
    assert found.bytes == bytes, "what an iteration touches, of all arrays"


def test_subscripts_that_are_computed_are_known_beforehand() -> None:
    """The first address of a run is needed before its first iteration."""
    assert len(streams_of(shifted).subscripts) == 2
    assert not streams_of(triad).subscripts


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (update, Unstreamed.UPDATES),
        (fill, Unstreamed.READS_NOTHING),
        (sometimes, Unstreamed.NOT_WHOLE_LINES),
        (backwards, Unstreamed.NOT_WHOLE_LINES),
        (twice, Unstreamed.NOT_WHOLE_LINES),
        (by_columns, Unstreamed.NOT_BY_ROW),
        (sum_with_store, Unstreamed.NOT_BY_ROW),
        (long, Unstreamed.LONG),
        (sums_of_rows, Unstreamed.LONG),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_others_do_not(kernel: Any, why: Unstreamed) -> None:
    region = region_of(kernel)
    assert region.tiling is not None and region.streams is None
    assert region.unstreamed is why
