"""Small vectors: arrays of them, fields, by value, built, indexed, reduced and returned."""

import copy
import math
import pickle
from typing import Literal

import numpy as np
import pytest
from harness import check, on

import lend
from lend import Mut, Out, Ref, Vec, bool_, f32, f64, i8, i32, i64
from lend.dims import M, N

Three = Vec[f32, Literal[3]]
Four = Vec[f64, Literal[4]]


@lend.struct
class Body:
    alive: bool_
    place: Three
    mass: f64
    speed: Three


@lend.kernel
def scaled(p: Mut[Three, N], a: f32):
    for i in lend.grid(N):
        p[i] = a * p[i] + Three(1, 2, 3)


@lend.kernel
def crossed(a: Ref[Three, N, M], b: Ref[Three, N, M], c: Out[Three, N, M]):
    for i, j in lend.grid(N, M):
        x, y, z = a[i, j]
        v = b[i, j]
        c[i, j] = Three(y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0])


@lend.kernel
def swapped(p: Mut[Three, N], q: Mut[Three, N]):
    for i in lend.grid(N):
        p[i], q[i] = q[i], p[i]


@lend.kernel
def items_in_turn(p: Mut[Four, N], k: i64, by: Four) -> f64:
    assert 0 <= k < 4
    for i in lend.grid(N):
        v = p[i]
        v[k] += by[k]
        for c in range(4):
            p[i][c] = v[3 - c]
    return by[k]


@lend.kernel
def moved(b: Mut[Body, N], dt: f32):
    for i in lend.grid(N):
        if b[i].alive:
            b[i].place += dt * b[i].speed
            b[i].speed[1] -= 0.5
            body = b[i]
            body.speed[2] = f32(body.mass)
            b[i].speed = body.speed


@lend.kernel
def sums_and_box(p: Ref[Three, N]) -> tuple[Three, Three, Three]:
    total = Three(0)
    least = Three(math.inf)
    most = Three(-math.inf)
    for i in lend.grid(N):
        total += p[i]
        least = min(least, p[i])
        most = max(most, p[i])
    return total, least, most


@lend.kernel
def rolled(p: Ref[Three, N], out: Out[f64, N]):
    for i in lend.grid(N):
        total = Vec[f64, 3](0)
        k = 0
        for j in range(N):
            total += p[j]  # f32 widens
            total[k] -= p[i][k]
            k = (k + 1) % 3
        out[i] = sum(total)


@lend.kernel
def through_temporaries(p: Ref[Three, N], out: Out[Three, N]):
    tmp = lend.empty(Three, N)
    last = lend.zeros(p.dtype, 1)
    for i in lend.grid(len(p)):
        kept = lend.local(Three, 2)
        kept[0] = p[N - 1 - i]
        kept[1] = kept[0] + 1.0
        tmp[i] = kept[1]
    last[0] = Three(0.5)
    for i in lend.grid(out.size):
        out[i] = tmp[i] - last[0] if i % 2 else last[0]


@lend.kernel
def rows(p: Ref[Three, N, M], out: Mut[Three, M]):
    assert N >= 2
    first = p[1]
    flat = p.reshape(N * M)
    for j in lend.grid(M):
        out[j] = abs(-first[j]) + np.sqrt(flat[j]) % 2


@lend.function
def length(v: Three) -> f32:
    return math.sqrt(sum(v * v))


@lend.function
def halfway(a: Three, b: Three) -> Three:
    return (a + b) / 2


@lend.kernel
def with_functions(p: Ref[Three, N], to: Three, out: Out[f32, N]):
    for i in lend.grid(N):
        out[i] = length(halfway(p[i], to)) if p[i] != to else f32(-1)


@lend.kernel
def given_on(p: Mut[Three, N], by: Three):
    scaled(p, by[0])
    through_temporaries(p[:1], p[1:2])


@lend.kernel
def in_teams(p: Ref[Three, N], sums: Out[Three, M]):
    for b in lend.blocks(M):
        tile = lend.shared(Three, 8)
        for t in lend.threads(8):
            tile[t] = p[8 * b + t] if 8 * b + t < N else Three(0)
            lend.sync()
            half = 4
            while half > 0:
                if t < half:
                    tile[t] += tile[t + half]
                lend.sync()
                half //= 2
            if t == 0:
                sums[b] = tile[0]


@lend.kernel
def sums_in_teams(p: Ref[Three, N]) -> Three:
    total = Three(0)
    for b in lend.blocks(lend.cdiv(N, 32)):
        part = Three(0)
        for t in lend.threads(32):
            if 32 * b + t < N:
                part += p[32 * b + t]
        total += part
    return total


@lend.struct
class Pair:
    first: Vec[i32, Literal[2]]
    second: i8


@lend.struct
class Nested:
    pair: Pair
    weight: Three


@lend.kernel
def nested(x: Mut[Nested, N], given: Nested, *, by: Three = Three(1, 2, 3)) -> tuple[Nested, Three]:  # noqa: B008
    own = given
    for i in lend.grid(N):
        z = x[i]
        for k in range(2):
            z.pair.first[k] += given.pair.first[1 - k]
        z.weight += by
        x[i] = z
    own.pair.first[1] <<= 3
    own.pair = Pair(~own.pair.first, 7)
    return own, by


def three(rng, *shape):
    return rng.standard_normal((*shape, 3), dtype=np.float32)


def test_the_layout_is_that_of_numpy(target):
    assert Three.dtype == np.dtype((np.float32, (3,)))
    assert np.zeros(5, Three.dtype).shape == (5, 3)
    assert Body.dtype.fields["place"] == (np.dtype((np.float32, (3,))), 4)
    assert Body.dtype.itemsize == 40
    natural = np.dtype([("alive", "?"), ("place", "f4", 3), ("mass", "f8"), ("speed", "f4", 3)], align=True)
    assert Body.dtype == natural


def test_elements_are_loaded_computed_and_stored(target):
    def reference(p, a):
        p[...] = np.float32(a) * p + np.array([1, 2, 3], np.float32)

    check(scaled, reference, lambda rng, n: (three(rng, n), 1.5), target=target, atol=1e-6)


def test_items_of_two_dimensions_of_vectors(target):
    def reference(a, b, c):
        c[...] = np.cross(a, b)

    check(crossed, reference, lambda rng, n: [three(rng, n, 5) for _ in range(3)], target=target, sizes=(0, 1, 7, 300), atol=1e-5)


def test_vectors_are_swapped_whole(target):
    def reference(p, q):
        p[...], q[...] = q.copy(), p.copy()

    check(swapped, reference, lambda rng, n: (three(rng, n), three(rng, n)), target=target)


@pytest.mark.parametrize("k", [0, 3])
def test_items_at_indices_that_are_computed(target, k):
    def reference(p, k, by):
        p[:, k] += by[k]
        p[...] = p[:, ::-1].copy()
        return by[k]

    check(items_in_turn, reference, lambda rng, n: (rng.random((n, 4)), k, (1.0, 2.0, 3.0, 4.0)), target=target, strict=True)


def test_fields_that_are_vectors(target):
    def reference(b, dt):
        alive = b["alive"]
        b["place"][alive] += np.float32(dt) * b["speed"][alive]
        b["speed"][alive, 1] -= 0.5
        b["speed"][alive, 2] = b["mass"][alive]

    def arguments(rng, n):
        b = np.zeros(n, Body.dtype)
        b["alive"], b["mass"] = rng.random(n) < 0.5, rng.random(n)
        b["place"], b["speed"] = three(rng, n), three(rng, n)
        return b, 0.25

    check(moved, reference, arguments, target=target)


def test_vectors_are_reduced_item_by_item(target):
    def reference(p):
        return tuple(p.sum(0, np.float64)), tuple(p.min(0, initial=math.inf)), tuple(p.max(0, initial=-math.inf))

    def result(found):
        return tuple(map(tuple, found))

    check(sums_and_box, reference, lambda rng, n: (three(rng, n),), target=target, result=result, rtol=1e-4, atol=1e-2)
    p = three(np.random.default_rng(0), 9)
    total, least, most = on(sums_and_box, target)(p)
    assert isinstance(total, Three) and tuple(least) == tuple(p.min(0)) and tuple(most) == tuple(p.max(0))


def test_loops_carry_vectors(target):
    def reference(p, out):
        n = len(p)
        times = np.array([len(range(k, n, 3)) for k in range(3)])
        out[...] = p.sum(dtype=np.float64) - (p.astype(np.float64) * times).sum(1)

    check(
        rolled, reference, lambda rng, n: (three(rng, n), np.empty(n)), target=target, sizes=(0, 1, 2, 40), rtol=1e-9, atol=1e-9
    )


def test_temporaries_and_private_arrays_of_vectors(target):
    def reference(p, out):
        out[...] = p[::-1] + 1 - np.float32(0.5)
        out[::2] = 0.5

    check(through_temporaries, reference, lambda rng, n: (three(rng, n), three(rng, n)), target=target, atol=1e-6)


def test_rows_and_reshaped_arrays_of_vectors(target):
    def reference(p, out):
        out[...] = np.abs(p[1]) + np.sqrt(p.reshape(-1, 3)[: len(out)]) % 2

    def arguments(rng, n):
        return np.abs(three(rng, 3, n)), np.zeros((n, 3), np.float32)

    check(rows, reference, arguments, target=target, layouts=("C",), rtol=1e-5, atol=1e-5)


def test_functions_take_and_give_vectors(target):
    to = np.array([1, 2, 3], np.float32)

    def reference(p, _, out):
        out[...] = np.linalg.norm((p + to) / 2, axis=1)
        out[(p == to).all(1)] = -1

    def arguments(rng, n):
        p = three(rng, n)
        p[::3] = to
        return p, Three(1, 2, 3), np.empty(n, np.float32)

    check(with_functions, reference, arguments, target=target, rtol=1e-5)


def test_kernels_lend_vectors_to_kernels(target):
    def reference(p, by):
        p[...] = by[0] * p + np.array([1, 2, 3], np.float32)
        p[1:2] = 0.5

    check(given_on, reference, lambda rng, n: (three(rng, n), (0.5, 0.0, 0.0)), target=target, sizes=(2, 17, 500))


def test_blocks_share_vectors(target):
    def reference(p, sums):
        padded = np.zeros((8 * len(sums), 3), np.float32)
        padded[: len(p)] = p
        sums[...] = padded.reshape(-1, 8, 3).sum(1)

    check(
        in_teams,
        reference,
        lambda rng, n: (three(rng, n), three(rng, -(-n // 8))),
        target=target,
        sizes=(1, 8, 20, 999),
        atol=1e-5,
    )


def test_blocks_reduce_vectors(target):
    def reference(p):
        return tuple(p.sum(0, np.float64))

    check(sums_in_teams, reference, lambda rng, n: (three(rng, n),), target=target, result=tuple, rtol=1e-4, atol=1e-2)


def test_vectors_in_records_in_records(target):
    given = Nested(Pair(Vec[i32, 2](5, 6), 1), Three(0))

    def reference(x, _):
        x["pair"]["first"] += np.array([6, 5], np.int32)
        x["weight"] += np.array([1, 2, 3], np.float32)
        return (-6, -49), (1.0, 2.0, 3.0)

    def arguments(rng, n):
        x = np.zeros(n, Nested.dtype)
        x["weight"] = rng.integers(0, 9, (n, 3))
        return x, given

    def result(found):
        return tuple(found[0].pair.first), tuple(found[1])

    check(nested, reference, arguments, target=target, result=result, rtol=0)
    assert given.pair.first == Vec[i32, 2](5, 6)


def test_a_computed_index_outside_is_a_fault(target):
    @lend.kernel
    def item(p: Ref[Three, N], k: i64, out: Mut[f32, N]):
        for i in lend.grid(N):
            out[i] = p[i][k]

    p, out = three(np.random.default_rng(1), 4), np.zeros(4, np.float32)
    on(item, target)(p, 2, out)
    np.testing.assert_array_equal(out, p[:, 2])
    for run in (on(item, target), item.py):
        with pytest.raises(lend.BoundsError, match=r"index 3 is out of bounds for dimension 1 of p, which has size 3") as caught:
            run(p, 3, out)
        assert "p[i][k]" in str(caught.value)


def test_a_computed_index_of_a_value_outside_is_a_fault(target):
    @lend.kernel
    def item(v: Three, k: i64) -> f32:
        return v[k]

    for run in (on(item, target), item.py):
        assert run((1, 2, 3), 1) == 2.0
        with pytest.raises(lend.BoundsError, match=r"index 3 is out of bounds for dimension 0 of v, which has size 3"):
            run((1, 2, 3), 3)


def test_an_index_that_an_array_gives_outside_is_a_fault(target):
    @lend.kernel
    def mark(j: Ref[i64, N], out: Mut[f32, N]):
        for i in lend.grid(N):
            v = Three(1, 2, 3)
            v[j[i]] = 9
            out[i] = v[0] + 10 * v[1] + 100 * v[2] + 1000 * (v + Three(1))[j[i]]

    out = np.zeros(3, np.float32)
    for run in (on(mark, target), mark.py):
        run(np.array([0, 1, 2]), out)
        assert out.tolist() == [10329, 10391, 10921]
        with pytest.raises(
            lend.BoundsError, match=r"index -1 is out of bounds for dimension 0 of v, which has size 3, in iteration i=1"
        ):
            run(np.array([0, -1, 2]), out)


def test_what_is_taken_for_a_vector(target):
    @lend.kernel
    def second(v: Vec[f64, Literal[2]]) -> f64:
        return v[1]

    run = on(second, target)
    for given in ((1, 2), [1.0, 2.0], np.array([1.0, 2.0]), np.array([1, 2], np.float32), Vec[f32, 2](1, 2), Vec[i32, 2](1, 2)):
        assert run(given) == 2.0


def test_all_element_types(target):
    @lend.kernel
    def grown(x: Mut[Vec[i8, Literal[16]], N], y: Mut[Vec[bool_, Literal[1]], N]):
        for i in lend.grid(N):
            x[i] += 100  # wraps
            y[i] = Vec[bool_, 1](y[i][0] != (i % 2 == 0))

    def reference(x, y):
        x += np.int8(100)
        y[::2, 0] ^= True

    check(grown, reference, lambda rng, n: (rng.integers(-9, 99, (n, 16), np.int8), rng.random((n, 1)) < 0.5), target=target)


def test_a_captured_vector_specialises(target):
    origin = Three(1, 2, 3)

    def read(p):
        for i in lend.grid(N):
            p[i] -= origin

    read.__annotations__ = {"p": Mut[Three, N]}
    kernel = lend.kernel(read)
    p = np.zeros((2, 3), np.float32)
    on(kernel, target)(p)
    assert p.tolist() == [[-1, -2, -3]] * 2
    origin = Three(0, 0, 1)
    on(kernel, target)(p)
    assert p.tolist() == [[-1, -2, -4]] * 2


def test_the_sanitizer_follows_vectors(target):
    b = np.zeros(5, Body.dtype)
    b["alive"] = True
    b["speed"] = 2.0
    assert not lend.sanitize(moved)(b, 0.25).findings
    assert b["place"].tolist() == [[0.5] * 3] * 5
    assert not lend.sanitize(items_in_turn)(np.ones((3, 4)), 2, (1, 2, 3, 4)).findings


def test_vectors_outside_kernels():
    v, w = Three(1, 2, 3), Three(0.5)
    assert repr(v) == "Vec[f32, 3](1.0, 2.0, 3.0)"
    assert (len(v), list(v), v[1], tuple(w)) == (3, [1.0, 2.0, 3.0], 2.0, (0.5, 0.5, 0.5))
    assert v + w == Three(1.5, 2.5, 3.5) and v != w and hash(v) == hash(Three(1, 2, 3))
    assert 2 * v - 1 == Three(1, 3, 5) and -v == Three(-1, -2, -3) and abs(-v) == v
    assert isinstance(v * Vec[f64, 3](1), Vec[f64, Literal[3]])
    assert Vec[i32, 2](7, -7) // 2 == Vec[i32, 2](3, -4) and Vec[i8, 2](127) + 1 == Vec[i8, 2](-128)
    assert Three(0.1)[0] == float(np.float32(0.1))
    assert np.asarray(v).dtype == np.float32
    assert Three(Vec[f64, 3](0.1, 1, 2)) == Three(0.1, 1, 2)
    assert pickle.loads(pickle.dumps(v)) == v and isinstance(copy.deepcopy(v), Three)
    with pytest.raises(TypeError, match="no order"):
        min(v, w)
    with pytest.raises(TypeError, match="has 3 items, and 2 values are given"):
        Three(1, 2)
    with pytest.raises(TypeError, match="does not change outside kernels"):
        v[0] = 1.0
