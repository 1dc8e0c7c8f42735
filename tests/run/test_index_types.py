"""Index types: `Index`, `Unique` and `Offsets`, tested when they are lent."""

from typing import Literal

import numpy as np
import pytest
from harness import check, place

import lend
from lend import Index, Mut, Offsets, Out, Ref, Unique, bool_, f64, i8, i16, i32, i64, u8, u16, u32, u64
from lend.dims import K, M, N


class NNZ(lend.Dim): ...


class N1(lend.Dim):
    equals = N + 1


@lend.kernel
def gather(x: Ref[f64, N], idx: Ref[Index[N], M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = x[idx[i]]


@lend.kernel
def gather_rows(x: Ref[f64, N], idx: Ref[Index[N, i32], M, K], y: Out[f64, M, K]):
    for i, j in lend.grid(M, K):
        y[i, j] = x[idx[i, j]]


@lend.kernel
def scatter(x: Ref[f64, M], p: Ref[Unique[N], M], y: Mut[f64, N]):
    for i in lend.grid(M):
        y[p[i]] = x[i]


@lend.kernel
def permute(p: Ref[Unique[N, i32], N], x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[p[i]]


@lend.kernel
def multiply(
    rows: Ref[Offsets[NNZ], N1], columns: Ref[Index[K, i32], NNZ], values: Ref[f64, NNZ], x: Ref[f64, K], y: Out[f64, N]
):
    """A matrix in CSR form times a vector."""
    for i in lend.grid(N):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


def random_csr(rng, rows, columns):
    lengths = rng.integers(0, 4, rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    count = int(offsets[-1]) if columns else 0
    offsets = np.minimum(offsets, count)
    return offsets, rng.integers(0, max(columns, 1), count).astype(np.int32), rng.random(count)


# ------------------------------------------------------------------------------------------------------- what they are for


def test_gather(target):
    def arguments(rng, n):
        return rng.random(n + 1), rng.integers(0, n + 1, 2 * n), np.zeros(2 * n)

    def reference(x, idx, y):
        y[:] = x[idx]

    check(gather, reference, arguments, target=target)


def test_gather_through_a_table(target):
    def arguments(rng, n):
        return rng.random(n + 1), rng.integers(0, n + 1, (n, 3)).astype(np.int32), np.zeros((n, 3))

    def reference(x, idx, y):
        y[:] = x[idx]

    check(gather_rows, reference, arguments, target=target)


def test_scatter_to_distinct_places(target):
    def arguments(rng, n):
        return rng.random(n), rng.permutation(2 * n)[:n], np.zeros(2 * n)

    def reference(x, p, y):
        y[p] = x

    check(scatter, reference, arguments, target=target)


def test_permutation(target):
    def arguments(rng, n):
        return rng.permutation(n).astype(np.int32), rng.random(n), np.zeros(n)

    def reference(p, x, y):
        y[:] = x[p]

    check(permute, reference, arguments, target=target)


def test_product_of_a_csr_matrix_and_a_vector(target):
    def arguments(rng, n):
        return (*random_csr(rng, n, n // 2), rng.random(n // 2), np.zeros(n))

    def reference(rows, columns, values, x, y):
        y[:] = [values[a:b] @ x[columns[a:b]] for a, b in zip(rows[:-1], rows[1:], strict=True)]

    check(multiply, reference, arguments, target=target)


@lend.kernel
def total_i8(x: Ref[f64, N], idx: Ref[Index[N, i8], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_i16(x: Ref[f64, N], idx: Ref[Index[N, i16], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_i32(x: Ref[f64, N], idx: Ref[Index[N, i32], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_u8(x: Ref[f64, N], idx: Ref[Index[N, u8], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_u16(x: Ref[f64, N], idx: Ref[Index[N, u16], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_u32(x: Ref[f64, N], idx: Ref[Index[N, u32], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


@lend.kernel
def total_u64(x: Ref[f64, N], idx: Ref[Index[N, u64], M]) -> f64:
    s = 0.0
    for i in lend.grid(M):
        s += x[idx[i]]
    return s


TOTALS = [
    (total_i8, np.int8), (total_i16, np.int16), (total_i32, np.int32),
    (total_u8, np.uint8), (total_u16, np.uint16), (total_u32, np.uint32), (total_u64, np.uint64),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "dtype"), TOTALS, ids=lambda value: getattr(value, "__name__", None))
def test_storage_types(kernel, dtype, target):
    def arguments(rng, n):
        return rng.random(300), rng.integers(0, min(300, np.iinfo(dtype).max + 1), n).astype(dtype)

    def reference(x, idx):
        return float(np.sum(x[idx]))

    check(kernel, reference, arguments, target=target, sizes=(0, 1, 17, 300))


@pytest.mark.parametrize(("kernel", "dtype"), TOTALS, ids=lambda value: getattr(value, "__name__", None))
@pytest.mark.parametrize("size", [1, 100])
def test_index_just_outside(kernel, dtype, size):
    x, idx = np.ones(size), np.zeros(9, dtype)
    wrong = [size, np.iinfo(dtype).max, np.iinfo(dtype).min] if np.iinfo(dtype).min else [size, np.iinfo(dtype).max]
    for value in wrong:
        idx[5] = value
        said = rf"{kernel.__name__}: idx must be .*, of indices below N = {size}, but idx\[5\] is {value}(?!\d)"
        for run in (kernel, kernel.py):
            with pytest.raises(lend.BoundsError, match=said):
                run(x, idx)


# ------------------------------------------------------------------------------------------------------------- refusals


def refused(error, message, kernel, *arguments):
    """A call is refused in these words, by the compiled kernel and by plain Python, and nothing is written.

    But for what `multiply`, which tests its rows as it goes, has as `Out`.
    """
    kept = arguments[:-1] if kernel is multiply else arguments
    before = [np.copy(argument) for argument in kept]
    for run in (kernel, kernel.py):
        with pytest.raises(error) as caught:
            run(*arguments)
        assert str(caught.value) == message
        assert type(caught.value) is error
        assert all(np.array_equal(now, then) for now, then in zip(kept, before, strict=True))
    return caught.value


def test_index_outside_says_which_and_where():
    error = refused(
        lend.BoundsError,
        "gather: idx must be Ref[Index[N], M], of indices below N = 3, but idx[1] is 3",
        gather, np.zeros(3), np.array([0, 3, -1]), np.zeros(3),
    )  # fmt: skip
    assert (error.kernel, error.array, error.index, error.size, error.thread) == ("gather", "idx", 3, 3, None)
    assert error.file == __file__ and error.line > 0


def test_negative_index_does_not_count_from_the_end():
    message = (
        "gather: idx must be Ref[Index[N], M], of indices below N = 3, but idx[2] is -1: negative ones do not count from the end"
    )
    refused(lend.BoundsError, message, gather, np.zeros(3), np.array([0, 2, -1]), np.zeros(3))


def test_no_index_lies_below_zero():
    message = "gather: idx must be Ref[Index[N], M], of indices below N = 0, and there are none, but the array has 2 elements"
    refused(lend.BoundsError, message, gather, np.zeros(0), np.array([0, 0]), np.zeros(2))
    gather(np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "gapped", "unaligned"])
def test_place_in_an_array_of_any_layout(layout):
    idx = np.zeros((4, 5), np.int32)
    idx[2, 3] = idx[3, 1] = 7
    message = "gather_rows: idx must be Ref[Index[N, i32], M, K], of indices below N = 7, but idx[2, 3] is 7"
    refused(lend.BoundsError, message, gather_rows, np.zeros(7), place(idx, layout).view, np.zeros((4, 5)))


def test_index_in_a_broadcast_array():
    idx = np.broadcast_to(np.array([1, 2, 3], np.int32), (4, 3))
    y = np.zeros((4, 3))
    gather_rows(np.arange(4.0), idx, y)
    assert (y == idx).all()
    message = "gather_rows: idx must be Ref[Index[N, i32], M, K], of indices below N = 3, but idx[0, 2] is 3"
    refused(lend.BoundsError, message, gather_rows, np.arange(3.0), idx, y)


def test_two_equal_elements_are_named():
    message = "scatter: p must be Ref[Unique[N], M], of indices that differ, but p[1] and p[2] are both 4"
    refused(lend.BorrowError, message, scatter, np.zeros(6), np.array([0, 4, 4, 1, 0, 4]), np.zeros(9))


def test_more_elements_than_values():
    message = "scatter: p must be Ref[Unique[N], M], of indices that differ, but p[1] and p[3] are both 0"
    refused(lend.BorrowError, message, scatter, np.zeros(4), np.array([2, 0, 1, 0]), np.zeros(3))


def test_distinct_elements_outside():
    message = "scatter: p must be Ref[Unique[N], M], of indices below N = 3, but p[1] is 3"
    refused(lend.BoundsError, message, scatter, np.zeros(3), np.array([2, 3, 1]), np.zeros(3))


def csr(rows, size=3):
    return np.array(rows), np.zeros(size, np.int32), np.ones(size), np.ones(1), np.zeros(len(rows) - 1)


def test_offsets_that_decrease():
    message = "multiply: rows must be Ref[Offsets[NNZ], N1], of offsets that never decrease, but rows[1] is 3 and rows[2] is 1"
    refused(lend.BoundsError, message, multiply, *csr([0, 3, 1]))


def test_offsets_outside():
    start = "multiply: rows must be Ref[Offsets[NNZ], N1], of offsets in 0..NNZ = 3, but"
    refused(lend.BoundsError, f"{start} rows[2] is 4", multiply, *csr([0, 3, 4]))
    refused(lend.BoundsError, f"{start} rows[0] is -1", multiply, *csr([-1, 0, 3]))


def test_offsets_into_nothing():
    multiply(*csr([0, 0, 0], 0))
    start = "multiply: rows must be Ref[Offsets[NNZ], N1], of offsets in 0..NNZ = 0, but"
    refused(lend.BoundsError, f"{start} rows[2] is 1", multiply, *csr([0, 0, 1], 0))


def test_another_storage_type_is_refused():
    message = (
        "gather: idx must be Ref[Index[N], M] but has dtype int32: "
        "write Ref[Index[N, i32], M] in the kernel, or pass idx.astype(np.int64)"
    )
    refused(lend.ArgumentError, message, gather, np.zeros(3), np.zeros(3, np.int32), np.zeros(3))


# --------------------------------------------------------------------------------------------------------------- bounds


@lend.kernel
def pick(table: Ref[f64, N, M], idx: Ref[Index[N * M], K], y: Out[f64, K]):
    for i in lend.grid(K):
        y[i] = table[idx[i] // M, idx[i] % M]


@lend.kernel
def corner(triangles: Ref[Index[Literal[3], u8], N], y: Out[i64, N]):
    for i in lend.grid(N):
        y[i] = triangles[i]


@lend.kernel
def borders(x: Ref[Index[N1], M], y: Ref[f64, N]):
    pass


@lend.kernel
def halves(x: Ref[Index[N // M], K], y: Ref[bool_, N], z: Ref[bool_, M]):
    pass


@lend.kernel
def pairs(x: Ref[Index[N * M], K], y: Ref[bool_, N], z: Ref[bool_, M]):
    pass


def test_bound_that_is_computed():
    y = np.zeros(2)
    pick(np.arange(6.0).reshape(2, 3), np.array([5, 0]), y)
    assert y.tolist() == [5.0, 0.0]
    message = "pick: idx must be Ref[Index[N * M], K], of indices below N * M = 6, but idx[0] is 6"
    refused(lend.BoundsError, message, pick, np.zeros((2, 3)), np.array([6, 0]), y)


def test_bound_that_is_a_number():
    y = np.zeros(2, np.int64)
    corner(np.array([2, 0], np.uint8), y)
    assert y.tolist() == [2, 0]
    message = "corner: triangles must be Ref[Index[3, u8], N], of indices below 3, but triangles[1] is 3"
    refused(lend.BoundsError, message, corner, np.array([0, 3], np.uint8), y)


def test_bound_that_is_derived():
    borders(np.array([3]), np.zeros(3))
    message = "borders: x must be Ref[Index[N1], M], of indices below N1 = 4, but x[0] is 4"
    refused(lend.BoundsError, message, borders, np.array([4]), np.zeros(3))


def test_bound_that_no_integer_is():
    message = "halves: x must be Ref[Index[N // M], K], whose bound N // M divides by zero"
    refused(lend.ShapeError, message, halves, np.array([0]), np.zeros(4, bool), np.zeros(0, bool))
    halves(np.array([1]), np.zeros(4, bool), np.zeros(2, bool))
    wide = np.broadcast_to(np.zeros(1, bool), 1 << 40)
    message = f"pairs: x must be Ref[Index[N * M], K], whose bound N * M is {1 << 80}, more than an i64 holds"
    for run in (pairs, pairs.py):
        with pytest.raises(lend.ShapeError) as caught:
            run(np.array([0]), wide, wide)
        assert str(caught.value) == message
    message = f"pairs: x must be Ref[Index[N * M], K], whose bound N * M is {1 << 50}, and no size may exceed {1 << 46}"
    with pytest.raises(lend.ShapeError) as caught:
        pairs(np.array([0]), wide, wide[:1024])
    assert str(caught.value) == message


# ------------------------------------------------------------------------------------------------- tuples, called kernels


@lend.kernel
def several(xs: tuple[Ref[Index[N], M], ...], y: Mut[i64, N]):
    for i in lend.grid(N):
        for x in xs:
            for k in range(M):
                if x[k] == i:
                    y[i] += 1


def test_tuple_of_index_arrays():
    y = np.zeros(3, np.int64)
    several((np.array([0, 1]), np.array([1, 1])), y)
    assert y.tolist() == [1, 3, 0]
    y = np.zeros(1, np.int64)
    with pytest.raises(lend.BoundsError) as caught:
        several((np.array([0, 0]), np.array([0, 1])), y)
    assert str(caught.value) == "several: xs[1] must be Ref[Index[N], M], of indices below N = 1, but xs[1][1] is 1"


@lend.kernel
def gather_twice(x: Ref[f64, N], p: Ref[Unique[N], M], y: Out[f64, M], z: Out[f64, M]):
    gather(x, p, y)
    q = p
    gather(x, q[0:M], z)


@lend.kernel
def gather_from_another(x: Ref[f64, N], p: Ref[Index[N], M], y: Out[f64, M], other: Ref[f64, K]):
    gather(other, p, y)


def test_index_array_passed_on():
    y, z = np.zeros(3), np.zeros(3)
    gather_twice(np.arange(3.0), np.array([2, 0, 1]), y, z)
    assert y.tolist() == z.tolist() == [2.0, 0.0, 1.0]


def test_index_array_passed_on_for_another_size():
    x, p, y = np.arange(3.0), np.array([2, 0]), np.zeros(2)
    gather_from_another(x, p, y, x + 1)
    assert y.tolist() == [3.0, 1.0]
    with pytest.raises(lend.ShapeError, match="the elements of the argument `idx` of `gather` were tested against another bound"):
        gather_from_another(x, p, y, np.zeros(4))


# ---------------------------------------------------------------------------------------------------------- large arrays

LARGE = 300_000


@pytest.mark.parametrize("threads", [1, 3])
def test_large_arrays(threads):
    lend.config.threads = threads
    rng = np.random.default_rng(1)
    x, y, idx = rng.random(1000), np.zeros(LARGE), rng.integers(0, 1000, LARGE)
    gather(x, idx, y)
    assert (y == x[idx]).all()
    idx[LARGE - 1] = -1
    with pytest.raises(lend.BoundsError, match=rf"idx\[{LARGE - 1}\] is -1:"):
        gather(x, idx, y)
    idx[7] = 1000
    with pytest.raises(lend.BoundsError, match=r"idx\[7\] is 1000$"):
        gather(x, idx, y)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bound", [LARGE, 9 * LARGE, 1000 * LARGE])
def test_large_permutations(threads, bound):
    lend.config.threads = threads
    rng = np.random.default_rng(2)
    x, y = np.arange(float(LARGE)), np.broadcast_to(np.zeros(1, bool), bound)
    step = bound // LARGE
    for p in (rng.permutation(LARGE) * step, np.arange(LARGE) * step, np.arange(LARGE)[::-1] * step):
        distinct(p, x, y)
        for first, second in ((3, LARGE - 1), (0, 1), (LARGE // 2, LARGE // 2 + 5)):
            bad = p.copy()
            bad[second] = bad[first]
            with pytest.raises(lend.BorrowError, match=rf"p\[{first}\] and p\[{second}\] are both {bad[first]}$"):
                distinct(bad, x, y)
        for value in (-1, bound):
            bad = p.copy()
            bad[LARGE - 2] = value
            with pytest.raises(lend.BoundsError, match=rf"p\[{LARGE - 2}\] is {value}(?!\d)"):
                distinct(bad, x, y)


@lend.kernel
def distinct(p: Ref[Unique[N], M], x: Ref[f64, M], y: Ref[bool_, N]) -> f64:
    return x[0]


@lend.kernel
def row_lengths(rows: Ref[Offsets[NNZ, u32], N1], y: Out[i64, N], values: Ref[bool_, NNZ]):
    for i in lend.grid(N):
        y[i] = i64(rows[i + 1]) - i64(rows[i])


@pytest.mark.parametrize("threads", [1, 3])
def test_large_offsets(threads):
    lend.config.threads = threads
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 3, LARGE)
    rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    y, values = np.zeros(LARGE, np.int64), np.zeros(int(rows[-1]), bool)
    row_lengths(rows, y, values)
    assert (y == lengths).all()
    with pytest.raises(lend.BoundsError, match=rf"rows\[{int(np.argmax(rows == rows[-1]))}\] is {rows[-1]}$"):
        row_lengths(rows, y, values[1:])
    for k in (127, 128, 129, 255, 256, 4096, LARGE // 2, LARGE - 1):  # beside the ends of blocks
        bad = rows.copy()
        bad[k] = bad[k + 1] + 1
        with pytest.raises(lend.BoundsError, match=r"of offsets that never decrease|of offsets in"):
            row_lengths(bad, y, values)


# ------------------------------------------------------------------------------------------------------ computed indices


@lend.kernel
def scatter_shifted(x: Ref[f64, N], y: Mut[f64, N], by: i64):
    """y[(i + by) % N] = x[i]."""
    places = lend.empty(i64, N)
    for i in lend.grid(N):
        places[i] = (i + by) % N
    p = lend.as_unique(places, N)
    for i in lend.grid(N):
        y[p[i]] = x[i]


@lend.kernel
def counting_sort(keys: Ref[u8, N], order: Out[i64, N]):
    """The stable order of the keys."""
    starts = lend.zeros(i64, 257)
    for i in range(N):
        starts[i64(keys[i]) + 1] += 1
    for k in range(256):
        starts[k + 1] += starts[k]
    places = lend.zeros(i32, N)
    for i in range(N):
        place = starts[keys[i]]
        starts[keys[i]] = place + 1
        places[i] = i32(place)
    p = lend.as_unique(places, N)
    for i in lend.grid(N):
        order[p[i]] = i


@lend.kernel
def inverse_of(q: Ref[i32, M], y: Mut[i64, N]):
    p = lend.as_unique(q, N)
    for i in lend.grid(M):
        y[p[i]] = i


@lend.kernel
def inverse_below(q: Ref[i64, M], y: Mut[i64, N], bound: i64) -> i64:
    total = 0
    for _ in range(3):
        p = lend.as_unique(q, bound)
        total += len(p)
    return total


def test_computed_permutation(target):
    def arguments(rng, n):
        return rng.random(n), np.zeros(n), 3

    def reference(x, y, by):
        y[:] = np.roll(x, by)

    check(scatter_shifted, reference, arguments, target=target)


def test_computed_order(target):
    def arguments(rng, n):
        return rng.integers(0, 256, n).astype(np.uint8), np.zeros(n, np.int64)

    def reference(keys, order):
        order[:] = np.argsort(keys, kind="stable")

    check(counting_sort, reference, arguments, target=target, layouts=("C", "strided"))


def test_computed_indices_are_proved_distinct():
    for kernel in (scatter_shifted, counting_sort, inverse_of):
        assert {proof.verdict for proof in kernel.proofs()} <= {"proved", "launch", "checked"}


@pytest.mark.parametrize("layout", ["C", "strided", "reversed", "unaligned"])
@pytest.mark.parametrize(
    ("values", "error", "said"),
    [
        ([2, 0, 0, 1], lend.BorrowError, "lend.as_unique needs indices that differ, but q[1] and q[2] are equal"),
        ([3, 0, 1, 3], lend.BorrowError, "lend.as_unique needs indices that differ, but q[0] and q[3] are equal"),
        ([2, 0, 6, 9], lend.BoundsError, "lend.as_unique needs indices below N, but q[2] is 6"),
        ([2, 2, -1, 9], lend.BoundsError, "lend.as_unique needs indices below N, but q[2] is -1"),
    ],
)
def test_computed_indices_that_are_not_distinct(values, error, said, layout):
    q, y = place(np.array(values, np.int32), layout).view, np.zeros(6, np.int64)
    for run in (inverse_of, inverse_of.py):
        with pytest.raises(error) as caught:
            run(q, y)
        assert type(caught.value) is error
        assert str(caught.value).startswith(f"inverse_of: {said}\n  --> {__file__}:")
        assert "p = lend.as_unique" in str(caught.value)
        assert not y.any()


def test_computed_indices_below_nothing():
    nothing, y = np.zeros(0, np.int64), np.zeros(3, np.int64)
    for bound in (0, -5, 3, 1 << 62):
        if bound < 1 << 62:
            assert inverse_below(nothing, y, bound) == inverse_below.py(nothing, y, bound) == 0
    for bound in (0, -5):
        with pytest.raises(lend.BoundsError, match=r"lend.as_unique needs indices below bound, but q\[0\] is 0"):
            inverse_below(np.zeros(2, np.int64), y, bound)
    assert inverse_below(np.array([4, 2]), y, 5) == 6


@pytest.mark.parametrize("threads", [1, 3])
def test_many_computed_indices(threads):
    lend.config.threads = threads
    p = np.random.default_rng(4).permutation(LARGE).astype(np.int32)
    y = np.zeros(LARGE, np.int64)
    inverse_of(p, y)
    assert (y[p] == np.arange(LARGE)).all()
    for first, second in ((0, LARGE - 1), (511, 512), (4095, 4096)):
        q = p.copy()
        q[second] = q[first]
        with pytest.raises(lend.BorrowError, match=rf"q\[{first}\] and q\[{second}\] are equal"):
            inverse_of(q, y)
