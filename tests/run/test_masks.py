"""Arrays of bool_."""

import numpy as np
from harness import check, threads

import lend
from lend import Mut, Out, Ref, bool_, f32, i32, i64, u8
from lend.dims import M, N


@lend.kernel
def make_mask(x: Ref[f32, N], low: f32, high: f32, mask: Out[bool_, N]):
    for i in lend.grid(N):
        mask[i] = low < x[i] <= high


@lend.kernel
def apply_mask(mask: Ref[bool_, N], x: Mut[f32, N]):
    for i in lend.grid(N):
        if not mask[i]:
            x[i] = 0


@lend.kernel
def combine(
    a: Ref[bool_, N], b: Ref[bool_, N], both: Out[bool_, N], one: Out[bool_, N], neither: Out[bool_, N], implied: Out[bool_, N]
):
    for i in lend.grid(N):
        both[i] = a[i] & b[i]
        one[i] = a[i] ^ b[i]
        neither[i] = not (a[i] or b[i])
        implied[i] = not a[i] or b[i]


@lend.kernel
def mask_as_number(mask: Ref[bool_, N, M], out: Out[i32, N]) -> i64:
    total = i64(0)
    for i in lend.grid(N):
        count = 0
        for j in range(M):
            count += i32(mask[i, j])
        out[i] = i32(count)
        total += count
    return total


@lend.kernel
def flip(mask: Mut[bool_, N], flag: bool_) -> bool_:
    for i in lend.grid(N):
        mask[i] = mask[i] != flag
    return not flag


@lend.kernel
def select(mask: Ref[bool_, N], table: Ref[u8, 2], y: Out[u8, N]):
    for i in lend.grid(N):
        y[i] = table[i32(mask[i])]


def test_chained_comparison_makes_a_mask(target):
    def reference(x, low, high, mask):
        mask[...] = (low < x) & (x <= high)

    check(make_mask, reference, lambda rng, n: (rng.random(n, np.float32), 0.25, 0.75, np.zeros(n, bool)), target=target)


def test_a_mask_guards_a_store(target):
    def reference(mask, x):
        x[~mask] = 0

    check(apply_mask, reference, lambda rng, n: (rng.random(n) < 0.5, rng.random(n, np.float32)), target=target)


def test_masks_combine(target):
    def reference(a, b, both, one, neither, implied):
        both[...], one[...], neither[...], implied[...] = a & b, a ^ b, ~(a | b), ~a | b

    check(combine, reference, lambda rng, n: (*(rng.random((2, n)) < 0.5), *np.zeros((4, n), bool)), target=target)


def test_bools_count_as_numbers(target):
    def reference(mask, out):
        out[...] = mask.sum(axis=1)
        return np.int64(mask.sum())

    check(
        mask_as_number,
        reference,
        lambda rng, n: (rng.random((n, n + 2)) < 0.5, np.zeros(n, np.int32)),
        target=target,
        sizes=(0, 1, 17, 90),
    )


def test_bool_scalars_go_in_and_out(target):
    def reference(mask, flag):
        mask ^= flag
        return not flag

    for flag in (True, False, np.True_):
        check(flip, reference, lambda rng, n, f=flag: (rng.random(n) < 0.5, f), target=target, sizes=(0, 1, 17, 1000))


def test_a_bool_byte_other_than_one_is_true_everywhere(target):
    strange = np.array([0, 1, 2, 255, 128, 0], np.uint8).view(bool)
    table, y = np.array([7, 9], np.uint8), np.zeros(6, np.uint8)
    for number in (1, 3):
        with threads(number):
            select(strange, table, y)
            np.testing.assert_array_equal(y, [7, 9, 9, 9, 9, 7])
    out = np.zeros(1, np.int32)
    assert mask_as_number(strange[None], out) == 4
    y[...] = 0
    select.py(strange, table, y)
    np.testing.assert_array_equal(y, [7, 9, 9, 9, 9, 7])
    both = [np.zeros(6, bool) for _ in range(4)]
    combine(strange, np.ones(6, bool), *both)
    np.testing.assert_array_equal(both[0].view(np.uint8), [0, 1, 1, 1, 1, 0])
