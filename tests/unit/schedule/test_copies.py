"""Copies that are left out, and their near neighbours that are made; each kernel against plain Python."""

import re

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def of_argument(x: Ref[i64, M], y: Mut[i64, N]):
    p = lend.as_unique(x, N)
    for i in lend.grid(M):
        y[p[i]] = i


@lend.kernel
def of_exclusive_argument(x: Mut[i64, M], y: Mut[i64, N]):
    for i in lend.grid(M):
        x[i] = (x[i] + 1) % M
    p = lend.as_unique(x, N)
    for i in lend.grid(M):
        y[p[i]] = i


@lend.kernel
def of_temporary(x: Ref[i64, M], y: Mut[i64, N]):
    q = lend.empty(i64, M)
    for i in lend.grid(M):
        q[i] = M - 1 - x[i]
    p = lend.as_unique(q, N)
    for i in lend.grid(M):
        y[p[i]] = q[i]


@lend.kernel
def written_later(x: Ref[i64, M], y: Mut[i64, N]):
    q = lend.empty(i64, M)
    for i in lend.grid(M):
        q[i] = M - 1 - x[i]
    p = lend.as_unique(q, N)
    for i in lend.grid(M):
        q[i] = 0
    for i in lend.grid(M):
        y[p[i]] = i + q[i]


@lend.kernel
def written_later_at_host_level(x: Mut[i64, M], y: Mut[i64, N]):
    p = lend.as_unique(x, N)
    x[0] = x[M - 1]
    for i in lend.grid(M):
        y[p[i]] = i


@lend.kernel
def written_in_the_next_round(x: Ref[i64, M], y: Mut[i64, N]):
    q = lend.zeros(i64, M)
    for k in range(3):
        for i in lend.grid(M):
            q[i] = (x[i] + k) % M
        p = lend.as_unique(q, N)
        for i in lend.grid(M):
            y[p[i]] += i * k


@lend.kernel
def made_in_each_round(x: Ref[i64, M], y: Mut[i64, N]):
    for k in range(3):
        q = lend.empty(i64, M)
        for i in lend.grid(M):
            q[i] = (x[i] + k) % M
        p = lend.as_unique(q, N)
        for i in lend.grid(M):
            y[p[i]] += i * k


@lend.kernel(math="strict")
def kept_for_the_next_round(x: Ref[f64, M], y: Mut[f64, M]):
    last = lend.zeros(f64, M)
    for k in range(3):
        q = lend.zeros(f64, M)
        for i in lend.grid(M):
            q[i] = x[i] + k
        own = lend.zeros(f64, M)
        for i in lend.grid(M):
            own[i] = q[i]
        for i in lend.grid(M):
            y[i] += own[i] * last[i]
        last = own


@lend.kernel(math="strict")
def kept_while_the_array_changes(x: Mut[f64, M], y: Mut[f64, M]):
    last = lend.zeros(f64, M)
    for k in range(3):
        for i in lend.grid(M):
            x[i] += k
        own = lend.zeros(f64, M)
        for i in lend.grid(M):
            own[i] = x[i]
        for i in lend.grid(M):
            y[i] += own[i] * last[i]
        last = own


@lend.kernel
def table(a: Ref[f64, N, M], y: Out[f64, N, M]):
    b = lend.empty(f64, N, M)
    for i, j in lend.grid(N, M):
        b[i, j] = a[i, j]
    for i, j in lend.grid(N, M):
        y[i, j] = b[i, j] + b[0, 0]


@lend.kernel
def transposed(a: Ref[f64, N, N], y: Out[f64, N, N]):
    b = lend.empty(f64, N, N)
    for i, j in lend.grid(N, N):
        b[j, i] = a[i, j]
    for i, j in lend.grid(N, N):
        y[i, j] = b[i, j]


@lend.kernel
def all_but_the_first(x: Ref[f64, M], y: Out[f64, M]):
    b = lend.zeros(f64, M)
    for i in lend.grid((1, M)):
        b[i] = x[i]
    for i in lend.grid(M):
        y[i] = b[i]


@lend.kernel
def the_first_half(x: Ref[f64, M], y: Mut[f64, M]):
    half = M // 2
    b = lend.zeros(f64, half)
    for i in lend.grid(half):
        b[i] = x[i]
    for i in lend.grid(len(b)):
        y[i] = b[i]


@lend.kernel
def the_copy_is_written(x: Ref[f64, M], y: Out[f64, M]):
    b = lend.empty(f64, M)
    for i in lend.grid(M):
        b[i] = x[i]
    for i in lend.grid(M):
        b[i] += 1.0
    for i in lend.grid(M):
        y[i] = b[i] + x[i]


@lend.kernel
def a_copy_of_a_copy(x: Ref[f64, M], y: Mut[f64, M]):
    b, c = lend.empty(f64, M), lend.empty(f64, M)
    for i in lend.grid(M):
        b[i] = x[i]
    for i in lend.grid(M):
        c[i] = b[i]
    for i in lend.grid(M):
        y[i] = b[i] * c[i]


@lend.kernel
def returned(x: Ref[f64, M]):
    b = lend.empty(f64, M)
    for i in lend.grid(M):
        b[i] = x[i]
    return b


@lend.kernel
def a_part_is_returned(x: Ref[i64, M], n: i64):
    p = lend.as_unique(x, n)
    return p[1:]


@lend.kernel
def swapped(x: Mut[f64, M], y: Mut[f64, M], steps: i64):
    u, v = x, y
    for k in range(steps):
        u, v = v, u
    b = lend.empty(f64, M)
    for i in lend.grid(M):
        b[i] = u[i]
    for i in lend.grid(M):
        v[i] = 0.0
    for i in lend.grid(M):
        u[i] += b[i]


def row(size):
    return np.random.default_rng(size).permutation(size)


def real(*shape):
    return np.random.default_rng(1).random(shape)


LEFT_OUT = [
    (of_argument, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (of_exclusive_argument, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (of_temporary, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (made_in_each_round, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (kept_for_the_next_round, "own", lambda n: (real(n), np.zeros(n))),
    (table, "b", lambda n: (real(n, 3), np.zeros((n, 3)))),
    (a_copy_of_a_copy, "b", lambda n: (real(n), np.zeros(n))),
]
MADE = [
    (written_later, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (written_later_at_host_level, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (written_in_the_next_round, "own", lambda n: (row(n), np.zeros(n + 2, np.int64))),
    (kept_while_the_array_changes, "own", lambda n: (real(n), np.zeros(n))),
    (transposed, "b", lambda n: (real(n, n), np.zeros((n, n)))),
    (all_but_the_first, "b", lambda n: (real(n), np.zeros(n))),
    (the_first_half, "b", lambda n: (real(n), np.zeros(n))),
    (the_copy_is_written, "b", lambda n: (real(n), np.zeros(n))),
    (returned, "b", lambda n: (real(n),)),
    (a_part_is_returned, "own", lambda n: (row(n), n)),
    (swapped, "b", lambda n: (real(n), np.ones(n), n)),
]


def scheduled(kernel):
    """The text of the scheduled tree."""
    from lend.driver.pipeline import run
    from lend.ir.print import print_kernel

    (compilation, *_) = kernel.compilations()
    return print_kernel(run(compilation, until="schedule").scheduled)


def makes(name, tree):
    """Whether memory is asked for under a name."""
    return re.search(rf"%{name}: owned\S*[^\n]* = allocate", tree) is not None


@pytest.mark.parametrize(("kernel", "name"), [case[:2] for case in LEFT_OUT])
def test_copies_that_are_left_out(kernel, name):
    assert not makes(name, scheduled(kernel))


@pytest.mark.parametrize(("kernel", "name"), [case[:2] for case in MADE])
def test_copies_that_are_made(kernel, name):
    assert makes(name, scheduled(kernel))


@pytest.mark.parametrize(("kernel", "make"), [(kernel, make) for kernel, _, make in LEFT_OUT + MADE])
@pytest.mark.parametrize("size", [1, 2, 7, 3000])
def test_results_are_those_of_the_text(kernel, make, size):
    size = min(size, 40) if kernel is transposed else size
    arguments, others = make(size), make(size)
    result, wanted = kernel(*arguments), kernel.py(*others)
    assert (result is None and wanted is None) or np.array_equal(result, wanted)
    for one, other in zip(arguments, others, strict=True):
        assert np.array_equal(one, other)


def test_what_is_returned_is_no_part_of_an_argument():
    x = real(50)
    assert not np.shares_memory(returned(x), x)
    p = row(50)
    part = a_part_is_returned(p, 50)
    assert not np.shares_memory(part, p) and (part == p[1:]).all()
