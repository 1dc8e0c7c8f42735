"""Arrays that a launch copies first, with another dimension last, so that lanes find their elements side by side."""

import numpy as np
import pytest
from harness import threads

import lend
from lend import Mut, Out, Ref, f32, f64
from lend.dims import H, K, M, N


@lend.kernel
def times_transposed(a: Ref[f64, M, K], b: Ref[f64, N, K], c: Out[f64, M, N]):
    for i, j in lend.grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[j, k]
        c[i, j] = s


@lend.kernel
def middle(a: Ref[f32, M, H, K], b: Ref[f32, H, N, K], c: Out[f32, M, N]):
    for i, j in lend.grid(M, N):
        s = f32(0)
        for h in range(H):
            for k in range(K):
                s += a[i, h, k] * b[h, j, k]
        c[i, j] = s


@lend.kernel
def written_under_another_name(b: Mut[f64, N, K], c: Mut[f64, 1, N]):
    view = b[0:N, 0:K]
    for i, j in lend.grid(1, N):
        for k in range(K):
            view[j, k] = view[j, k] + 1.0
        s = 0.0
        for k in range(K):
            s += b[j, k]
        c[i, j] = s


SIZES = [(0, 3, 4), (4, 0, 5), (1, 1, 1), (8, 5, 24), (9, 7, 25), (17, 3, 31), (3, 2, 100), (40, 33, 41)]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_the_second_operand_transposed(m, k, n, count):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(m, k)), rng.normal(size=(n, k)), np.full((m, n), np.nan)
    with threads(count):
        times_transposed(a, b, c)
    assert np.allclose(c, a @ b.T, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_a_dimension_from_the_middle(m, k, n):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(m, 3, k)).astype("f4"), rng.normal(size=(3, n, k)).astype("f4")
    c = np.full((m, n), np.nan, "f4")
    middle(a, b, c)
    assert np.allclose(c, np.einsum("ihk,hjk->ij", a, b), rtol=1e-4, atol=1e-4)


def test_many_threads_copy_a_large_array():
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(16, 300)), rng.normal(size=(700, 300)), np.empty((16, 700))
    seen = []
    for count in (1, 2, 4):
        with threads(count):
            times_transposed(a, b, c)
        seen.append(c.tobytes())
    assert np.allclose(c, a @ b.T) and len(set(seen)) == 1


def test_other_layouts_are_read_where_they_are():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(9, 6)), rng.normal(size=(20, 12))[:, ::2]
    c = np.empty((9, 20))
    times_transposed(a, b, c)
    assert np.allclose(c, a @ b.T)
    b = np.asfortranarray(b)
    times_transposed(a, b, c)
    assert np.allclose(c, a @ b.T)


def test_what_the_loop_writes_itself_is_not_copied():
    b, c = np.zeros((30, 5)), np.zeros((1, 30))
    written_under_another_name(b, c)
    assert (b == 1).all() and (c == 5).all()


def test_the_copy_is_made_and_freed():
    code = times_transposed.lower(np.ones((4, 4)), np.ones((4, 4)), np.ones((4, 4))).llvm
    assert "lend.turn.64" in code and code.count("@lend_allocate(") == 2 and code.count("@lend_free(") == 2  # declared, called


@lend.kernel
def product(a: Ref[f64, M, K], b: Ref[f64, K, N], c: Out[f64, M, N]):
    for i, j in lend.grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 255, 257, 773])
def test_panels_go_over_rows_in_stages(m, count):
    """The second operand exceeds a core's cache: tiles go panel by panel, within stages of 32 tiles of rows."""
    rng = np.random.default_rng(4)
    a, b, c = rng.normal(size=(m, 410)), rng.normal(size=(410, 407)), np.full((m, 407), np.nan)
    with threads(count):
        product(a, b, c)
    assert np.allclose(c, a @ b, rtol=1e-12, atol=1e-11)
