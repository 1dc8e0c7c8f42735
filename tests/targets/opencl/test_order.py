"""Sums in loops are computed in the order in which they are written, whatever a driver would rather do."""

from __future__ import annotations

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import M, N


@lend.kernel(math="strict")
def carried(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        total = 0.0
        for k in range(M):
            total += a[i, k] * x[k]
        y[i] = total


@lend.kernel(math="strict")
def in_a_local_array(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        sums = lend.local(f64, 2)
        sums[0] = sums[1] = 0
        for k in range(M):
            sums[0] += a[i, k] * x[k]
            sums[1] += a[i, k]
        y[i] = sums[0] * sums[1]


@lend.kernel(math="strict")
def in_an_element(a: Ref[f64, N, M], x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 0
        k = 0
        while k < M:
            y[i] += a[i, k] * x[k]
            k += 1


@lend.kernel(math="strict")
def of_a_loop_that_reduces(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]) -> f64:
    whole = 0.0
    for i in lend.grid(N):
        part = 0.0
        for k in range(M):
            part += a[i, k] * x[k]
        y[i] = part
        whole += part
    return whole


@pytest.mark.parametrize("kernel", [carried, in_a_local_array, in_an_element, of_a_loop_that_reduces], ids=lambda k: k.__name__)
def test_sums_have_the_bits_of_the_processor(device, kernel):
    rng = np.random.default_rng(11)
    for n in (1, 2, 3, 17, 63, 64, 200):
        for m in (1, 16, 17, 33, 100):
            a, x = rng.standard_normal((n, m)), rng.standard_normal(m)
            here, there = np.zeros(n), np.zeros(n)
            assert kernel.on(device)(a, x, there) == kernel.on("cpu")(a, x, here)
            np.testing.assert_array_equal(there, here, err_msg=f"{n} rows of {m}")
