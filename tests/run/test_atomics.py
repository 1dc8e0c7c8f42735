"""Atomic arrays: every operation, at host level, in grids and in teams, compiled and as Python."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check, threads

import lend
from lend import Atomic, Mut, Out, Ref, T, comptime, f64, i32, i64, u32
from lend.dims import K, M, N

DTYPES = {"i32": np.int32, "i64": np.int64, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64}
LAYOUTS = ("C", "strided", "reversed", "mixed")  # not unaligned


@lend.kernel
def histogram(x: Ref[i64, N], h: Atomic[i32, M]):
    for i in lend.grid(N):
        h[x[i]] += 1


@lend.kernel
def change(h: Atomic[T, M], v: Ref[T, N], old: Out[T, N], operation: comptime[str]):
    assert N == M
    for i in lend.grid(N):
        if operation == "add":
            old[i] = h.add(i, v[i])
        if operation == "sub":
            old[i] = h.sub(i, v[i])
        if operation == "min":
            old[i] = h.min(i, v[i])
        if operation == "max":
            old[i] = h.max(i, v[i])
        if operation == "exchange":
            old[i] = h.exchange(i, v[i], order="acq_rel")
        if operation == "compare_exchange":
            old[i] = h.compare_exchange(i, 3, v[i])
        if operation == "store":
            old[i] = h.load(i, order="acquire")
            h.store(i, v[i], order="release")


@lend.kernel
def change_bits(h: Atomic[T, M], v: Ref[T, N], old: Out[T, N], operation: comptime[str]):
    assert N == M
    for i in lend.grid(N):
        if operation == "and_":
            old[i] = h.and_(i, v[i])
        if operation == "or_":
            old[i] = h.or_(i, v[i], order="seq_cst")
        if operation == "xor":
            old[i] = h.xor(i, v[i])


def values(name: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = DTYPES[name]
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, n, dtype, endpoint=True)
    else:
        x = rng.standard_normal(n).astype(dtype)
        x[::11], x[5::13] = np.nan, -0.0
    x[::3] = 3
    return x


def expected(operation: str, h: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The elements after an operation on each."""
    with np.errstate(all="ignore"):
        match operation:
            case "add":
                return h + v
            case "sub":
                return h - v
            case "min" | "max":
                least = np.minimum if operation == "min" else np.maximum
                out = least(h, v)
                zero = (h == 0) & (v == 0)
                if h.dtype.kind == "f":  # of zeros, min is the negative one and max the positive one
                    either = np.signbit(h) | np.signbit(v) if operation == "min" else np.signbit(h) & np.signbit(v)
                    out[zero] = np.where(either, -0.0, 0.0)[zero]
                return out
            case "compare_exchange":
                return np.where(h == 3, v, h)
            case "and_":
                return h & v
            case "or_":
                return h | v
            case "xor":
                return h ^ v
            case _:
                return v.copy()


@pytest.mark.parametrize("operation", ["add", "sub", "min", "max", "exchange", "compare_exchange", "store"])
@pytest.mark.parametrize("name", DTYPES)
def test_operation_gives_the_element_before_it(name: str, operation: str) -> None:
    h, v = values(name, 200, 1), values(name, 200, 2)
    for run in (change, change.py):
        there, old = h.copy(), np.zeros_like(h)
        run(there, v, old, operation)
        assert old.tobytes() == h.tobytes()
        np.testing.assert_array_equal(there, expected(operation, h, v))
        assert (np.signbit(there) == np.signbit(expected(operation, h, v)))[~np.isnan(there)].all()


@pytest.mark.parametrize("operation", ["and_", "or_", "xor"])
@pytest.mark.parametrize("name", ["i32", "i64", "u32", "u64"])
def test_operation_on_bits(name: str, operation: str) -> None:
    h, v = values(name, 200, 1), values(name, 200, 2)
    for run in (change_bits, change_bits.py):
        there, old = h.copy(), np.zeros_like(h)
        run(there, v, old, operation)
        assert old.tolist() == h.tolist()
        assert there.tolist() == expected(operation, h, v).tolist()


def test_nothing_is_lost_when_many_threads_add_to_few_places() -> None:
    def count(x: np.ndarray, h: np.ndarray) -> None:
        np.add.at(h, x, 1)

    check(
        histogram,
        count,
        lambda rng, n: (rng.integers(0, 5, n), np.zeros(5, np.int32)),
        sizes=(0, 1, 17, 100_000),
        layouts=LAYOUTS,
        thread_counts=(1, 4),
    )


@lend.kernel
def augmented(a: Atomic[i64, N, M], b: Atomic[u32, M], x: Ref[u32, N, M]):
    for i, j in lend.grid(N, M):
        a[i, j] += 2
        a[i, j] -= 5
        b[j] ^= x[i, j]
        b[j] |= 0
        b[j] &= 0xFFFFFFFF


def test_augmented_assignments_in_two_dimensions() -> None:
    def reference(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> None:
        a -= 3
        b ^= np.bitwise_xor.reduce(x, axis=0, initial=np.uint32(0), dtype=np.uint32)

    check(
        augmented,
        reference,
        lambda rng, n: (
            rng.integers(-9, 9, (n, 3)),
            rng.integers(0, 99, 3).astype(np.uint32),
            rng.integers(0, 1 << 32, (n, 3), dtype=np.uint32),
        ),
        layouts=LAYOUTS,
        sizes=(0, 1, 17, 999),
    )


@lend.kernel
def tickets(next: Atomic[i64, M], owner: Mut[i64, N]):
    assert M > 0
    for i in lend.grid(N):
        t = next.add(0, 1)
        if 0 <= t < N:
            with lend.unchecked("tickets of a counter that only grows are distinct"):
                owner[t] = i


@pytest.mark.first_come(why="whichever iteration comes first gets the smaller ticket")
def test_tickets_are_distinct() -> None:
    for run in (tickets, tickets.py):
        next, owner = np.zeros(1, np.int64), np.full(20_000, -1)
        with threads(4):
            run(next, owner)
        assert next[0] == owner.size
        assert np.sort(owner).tolist() == list(range(owner.size))


@lend.function
def multiply(h: Atomic[f64, M], i: i64, v: f64):
    old = h.load(i)
    while True:
        seen = h.compare_exchange(i, old, old * v)
        if seen == old:
            return
        old = seen


@lend.kernel
def product(x: Ref[f64, N], h: Atomic[f64, M]):
    assert M == 2
    for i in lend.grid(N):
        multiply(h, i % 2, x[i])


def test_any_operation_by_retries() -> None:
    for run in (product, product.py):
        x, h = np.where(np.arange(3000) % 7 == 0, 2.0, 1.0), np.ones(2)  # powers of two: exact in any order
        with threads(4):
            run(x, h)
        assert h.tolist() == [x[::2].prod(), x[1::2].prod()]


@lend.kernel
def at_host_level(h: Atomic[i32, N]) -> tuple[i32, i32, i32]:
    assert N >= 3
    a = h.exchange(0, 7)
    h[1] += 5
    b = h.load(1)
    for k in range(10):
        h.max(2, i32(k))
    while h.add(2, 1) < 15:
        pass
    return a, b, h.load(2)


def test_host_level() -> None:
    for run in (at_host_level, at_host_level.py):
        h = np.array([1, 2, 3], np.int32)
        assert run(h) == (1, 7, 16)
        assert h.tolist() == [7, 7, 16]


@lend.kernel
def counts_of_two(x: Ref[i64, N], y: Ref[i64, N]):
    h = lend.zeros(i32, 8)
    histogram(x, h)
    histogram(y, h)
    total = 0
    for k in range(8):
        total += i64(h[k])
    return h, total


def test_a_temporary_is_lent_as_atomic() -> None:
    x, y = np.arange(40) % 8, np.arange(40) % 4
    for run in (counts_of_two, counts_of_two.py):
        h, total = run(x, y)
        assert h.tolist() == [15] * 4 + [5] * 4
        assert total == 80


@lend.kernel
def several(hs: tuple[Atomic[i64, N], ...], x: Ref[i64, N]):
    for i in lend.grid(N):
        for h in hs:
            h[i] += x[i]


def test_tuples_of_atomics() -> None:
    x, a, b = np.arange(5), np.zeros(5, np.int64), np.ones(5, np.int64)
    several((a, b), x)
    several.py((a, b), x)
    assert a.tolist() == (2 * x).tolist()
    assert b.tolist() == (2 * x + 1).tolist()


@lend.kernel
def rows(h: Atomic[i32, N, M], x: Ref[i32, N, M]):
    for i in lend.grid(N):
        row = h[i]
        part = row[1:M]
        for j in range(M - 1):
            part[j] += x[i, j]


def test_views_of_atomics() -> None:
    for run in (rows, rows.py):
        x, h = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((3, 4), np.int32)
        run(h, x)
        assert (h[:, 1:] == x[:, :3]).all()
        assert (h[:, 0] == 0).all()


@lend.kernel
def far(h: Atomic[i64, N], x: Ref[i64, M], old: Mut[i64, M]):
    for i in lend.grid(M):
        old[i] = h.add(x[i], 1)


def test_an_operation_outside_the_array_is_a_fault_and_does_nothing() -> None:
    x = np.array([0, 5, 1, 7])
    for run in (far, far.py):
        h = np.zeros(4, np.int64)
        with pytest.raises(lend.BoundsError, match="index 5 is out of bounds for dimension 0 of h") as caught:
            run(h, x, np.zeros(4, np.int64))
        assert caught.value.index == 5
        assert caught.value.thread == (1,)


@lend.kernel
def blockwise(x: Ref[i64, N], h: Atomic[i64, M]):
    for b in lend.blocks(lend.cdiv(N, 64)):
        local = lend.shared(Atomic[i32], 8)
        for t in lend.threads(64):
            if b * 64 + t < N:
                local[x[b * 64 + t] % 8] += 1
        for t in lend.threads(64):
            if t < 8 and t < M:
                h[t] += local.load(t)


def test_shared_atomics_begin_with_zeros_in_each_block() -> None:
    def reference(x: np.ndarray, h: np.ndarray) -> None:
        np.add.at(h, x % 8, 1)

    check(
        blockwise,
        reference,
        lambda rng, n: (rng.integers(0, 1000, n), np.zeros(8, np.int64)),
        layouts=LAYOUTS,
        python_up_to=100,
        sizes=(0, 1, 64, 100, 5000),
    )


# ------------------------------------------------------------------------------------------------------ at the call


@lend.kernel
def bump(h: Atomic[i32, N], x: Ref[i32, K]):
    for i in lend.grid(N):
        h[i] += 1


def test_an_atomic_overlaps_nothing_else() -> None:
    h = np.zeros(10, np.int32)
    for run in (bump, bump, bump.py):
        run(h[:5], h[5:])
        with pytest.raises(lend.BorrowError, match="h is lent as Atomic but h and x share memory"):
            run(h[:6], h[5:])
        with pytest.raises(lend.BorrowError, match="read-only"):
            run(np.broadcast_to(np.int32(1), (4,)), h)
    assert h.tolist() == [3] * 5 + [0] * 5


def test_atomics_are_aligned() -> None:
    bytes = np.zeros(50, np.uint8)
    for run in (bump, bump, bump.py):
        run(bytes[4:44].view(np.int32), np.zeros(1, np.int32))
        with pytest.raises(lend.BorrowError, match="its elements are not aligned"):
            run(bytes[1:41].view(np.int32), np.zeros(1, np.int32))


def test_types_without_atomic_operations() -> None:
    with pytest.raises(lend.ArgumentError, match="no atomic operations on i16"):
        change(np.zeros(2, np.int16), np.zeros(2, np.int16), np.zeros(2, np.int16), "add")
