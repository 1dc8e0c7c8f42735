"""Records: arrays of them, nested fields, by value, built and stored."""

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, bool_, complex64, f32, f64, i8, i32, i64, u8, u16
from lend.dims import M, N


@lend.struct
class Point:
    x: f64
    y: f64


@lend.struct
class Body:
    alive: bool_
    position: Point
    velocity: Point
    mass: f32
    kind: i8


@lend.struct
class Odd:
    a: u8
    b: u16
    c: u8
    d: f64
    e: complex64


@lend.kernel
def move(bodies: Mut[Body, N], dt: f64):
    for i in lend.grid(N):
        if bodies[i].alive:
            bodies[i].position.x += dt * bodies[i].velocity.x
            bodies[i].position.y += dt * bodies[i].velocity.y
            bodies[i].kind = 3


@lend.kernel
def midpoints(a: Ref[Point, N], b: Ref[Point, N], c: Out[Point, N]):
    for i in lend.grid(N):
        p = a[i]
        q = b[i]
        c[i] = Point(0.5 * (p.x + q.x), 0.5 * (p.y + q.y))


@lend.kernel
def shift(points: Mut[Point, N, M], by: Point):
    for i, j in lend.grid(N, M):
        p = points[i, j]
        points[i, j] = Point(p.x + by.x, p.y + by.y)


@lend.kernel
def replace_positions(bodies: Mut[Body, N], points: Ref[Point, N]):
    for i in lend.grid(N):
        bodies[i].position = points[i]
        bodies[i].velocity = Point(0.0, bodies[i].mass)


@lend.function
def length(p):
    return np.hypot(p.x, p.y)


@lend.function
def halfway(p, q):
    return Point((p.x + q.x) / 2, (p.y + q.y) / 2)


@lend.kernel
def centre_of_mass(bodies: Ref[Body, N]) -> Point:
    x = 0.0
    y = 0.0
    mass = f64(0)
    for i in lend.grid(N):
        x += bodies[i].position.x * bodies[i].mass
        y += bodies[i].position.y * bodies[i].mass
        mass += bodies[i].mass
    return Point(x / mass, y / mass)


@lend.kernel
def functions_take_records(a: Ref[Point, N], out: Out[f64, N]):
    for i in lend.grid(N):
        p = halfway(a[i], Point(1.0, 2.0))
        out[i] = length(p)


@lend.kernel
def all_fields(x: Mut[Odd, N]) -> i64:
    total = i64(0)
    for i in lend.grid(N):
        total += x[i].a
        x[i].a += 1
        x[i].b = u16(x[i].c) * 256
        x[i].d *= 2
        x[i].e = x[i].e * 1j
    return total


@lend.kernel
def choose(a: Ref[Point, N], b: Ref[Point, N], c: Out[Point, N]):
    for i in lend.grid(N):
        p = a[i]
        if b[i].x > p.x:
            p = b[i]
        c[i] = p


@lend.kernel
def two_fields(p: Point, factor: i32) -> tuple[f64, Point]:
    return p.x * factor, Point(p.y, p.x)


def points(rng, *shape):
    out = np.zeros(shape, Point.dtype)
    out["x"], out["y"] = rng.normal(size=shape), rng.normal(size=shape)
    return out


def bodies(rng, n):
    out = np.zeros(n, Body.dtype)
    out["alive"] = rng.random(n) < 0.5
    for name in ("position", "velocity"):
        out[name] = points(rng, n)
    out["mass"], out["kind"] = rng.random(n) + 0.5, rng.integers(-9, 9, n)
    return out


@lend.kernel
def rolled(n: i64, m: i64) -> Point:
    p = Point(0.0, 1.0)
    for k in range(n):
        p.x += 1.5
        if k % 3 == 1:
            p.x, p.y = p.y, p.x
    steps = 0
    while steps < m:
        p.y = 2.0 * p.y - p.x
        steps += 1
    return p


@lend.kernel
def orbits(y: Out[f64, N], n: i64):
    for i in lend.grid(N):
        p = Point(f64(i), 0.0)
        for _ in range(n):
            p.y += 0.5 * p.x
            p.x -= 0.25 * p.y
        y[i] = p.x + 10.0 * p.y


def test_the_layout_is_that_of_c(target):
    assert Body.dtype.fields["position"][1] == 8
    assert Body.dtype.fields["mass"][1] == 40
    assert Body.dtype.fields["kind"][1] == 44
    assert Body.dtype.itemsize == 48
    assert [Odd.dtype.fields[name][1] for name in "abcde"] == [0, 2, 4, 8, 16]
    assert Odd.dtype.itemsize == 24


def test_nested_fields_are_updated_in_place(target):
    def reference(b, dt):
        on = b["alive"]
        for axis in "xy":
            b["position"][axis][on] += dt * b["velocity"][axis][on]
        b["kind"][on] = 3

    check(move, reference, lambda rng, n: (bodies(rng, n), 0.125), target=target, sizes=(0, 1, 17, 3000))


def test_records_are_loaded_built_and_stored(target):
    def reference(a, b, c):
        for axis in "xy":
            c[axis] = 0.5 * (a[axis] + b[axis])

    check(midpoints, reference, lambda rng, n: (points(rng, n), points(rng, n), points(rng, n)), target=target)


def test_a_record_by_value(target):
    def reference(p, by):
        p["x"] += 2
        p["y"] -= 1

    check(shift, reference, lambda rng, n: (points(rng, n, n + 1), Point(2.0, -1.0)), target=target, sizes=(0, 1, 9, 60))


def test_a_numpy_record_by_value(target):
    array = points(np.random.default_rng(1), 5, 3)
    by = points(np.random.default_rng(2), 1)[0]
    expected = array["x"] + by["x"]
    shift(array, by)
    np.testing.assert_array_equal(array["x"], expected)


def test_a_nested_record_is_replaced_whole(target):
    def reference(b, p):
        b["position"] = p
        b["velocity"]["x"], b["velocity"]["y"] = 0, b["mass"]

    check(replace_positions, reference, lambda rng, n: (bodies(rng, n), points(rng, n)), target=target, sizes=(0, 1, 17, 1000))


def test_a_record_is_returned(target):
    def reference(b):
        mass = b["mass"].astype(np.float64)
        return tuple((b["position"][axis] * mass).sum() / mass.sum() for axis in "xy")

    check(
        centre_of_mass,
        reference,
        lambda rng, n: (bodies(rng, n),),
        target=target,
        sizes=(1, 17, 3000),
        rtol=1e-9,
        result=lambda p: (p.x, p.y),
    )


def test_functions_take_and_give_records(target):
    def reference(a, out):
        out[...] = np.hypot((a["x"] + 1) / 2, (a["y"] + 2) / 2)

    check(functions_take_records, reference, lambda rng, n: (points(rng, n), np.zeros(n)), target=target, sizes=(0, 1, 17, 1000))


def test_fields_of_all_widths_and_padding_is_left_alone(target):
    def reference(x):
        total = np.int64(x["a"].sum(dtype=np.int64))
        x["a"] += 1
        x["b"] = x["c"].astype(np.uint16) * 256
        x["d"] *= 2
        x["e"] *= 1j
        return total

    def arguments(rng, n):
        out = rng.integers(0, 256, (n, Odd.dtype.itemsize)).astype(np.uint8).view(Odd.dtype)[:, 0]
        out["d"], out["e"] = rng.random(n), rng.random(n) + 1j * rng.random(n)
        return (out,)

    check(all_fields, reference, arguments, target=target, sizes=(0, 1, 17, 1000))


def test_a_record_variable_is_assigned_on_one_path(target):
    def reference(a, b, c):
        c[...] = np.where(b["x"] > a["x"], b, a)

    check(
        choose, reference, lambda rng, n: (points(rng, n), points(rng, n), points(rng, n)), target=target, sizes=(0, 1, 17, 1000)
    )


def test_records_in_and_out_without_arrays(target):
    for run in (two_fields, two_fields.py):
        scaled, swapped = run(Point(1.5, 2.5), 4)
        assert scaled == 6.0
        assert (swapped.x, swapped.y) == (2.5, 1.5)


def test_a_field_of_packed_records_is_lent_in_place(target):
    from test_maps import clamp

    packed = np.zeros(33, np.dtype([("flag", "u1"), ("value", "f8")]))
    packed["value"], packed["flag"] = np.linspace(-1, 1, 33), 7
    out = np.zeros(33)
    clamp(-0.5, 0.5, packed["value"], out)
    np.testing.assert_array_equal(out, np.clip(packed["value"], -0.5, 0.5))
    clamp(-0.5, 0.5, out, packed["value"])
    np.testing.assert_array_equal(packed["value"], out)
    assert (packed["flag"] == 7).all()


def test_fields_that_loops_change_are_carried(target):
    def reference(n, m):
        x, y = 0.0, 1.0
        for k in range(n):
            x += 1.5
            if k % 3 == 1:
                x, y = y, x
        for _ in range(m):
            y = 2.0 * y - x
        return x, y

    for n, m in ((0, 0), (1, 0), (0, 2), (5, 3), (8, 1)):
        for run in (rolled, rolled.py):
            got = run(n, m)
            assert (got.x, got.y) == reference(n, m)


def test_fields_change_in_loops_inside_a_parallel_loop(target):
    def reference(y, n):
        x, y[...] = np.arange(len(y), dtype=np.float64), 0.0
        for _ in range(n):
            y += 0.5 * x
            x -= 0.25 * y
        y[...] = x + 10.0 * y

    check(orbits, reference, lambda rng, n: (np.empty(n), 7), target=target, sizes=(0, 1, 17, 1000))
