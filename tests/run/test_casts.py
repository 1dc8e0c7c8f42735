"""Casts between all scalar types, implicit widening, and arithmetic in every type."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from harness import check

import lend
from lend import Out, Ref, T, bf16, comptime, f16, f32, f64, i8, i32, i64, u8, u32
from lend.dims import N

DTYPES = {
    "bool_": np.dtype(bool),
    "i8": np.dtype("i1"),
    "i16": np.dtype("i2"),
    "i32": np.dtype("i4"),
    "i64": np.dtype("i8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("u2"),
    "u32": np.dtype("u4"),
    "u64": np.dtype("u8"),
    "f16": np.dtype("f2"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
}
INTEGERS = [name for name, dtype in DTYPES.items() if dtype.kind in "iu"]
FLOATS = ["f16", "bf16", "f32", "f64"]


@lend.kernel
def cast(x: Ref[lend.T, N], y: Out[lend.U, N], To: comptime[type]):
    for i in lend.grid(N):
        y[i] = To(x[i])


@lend.kernel
def arithmetic(x: Ref[T, N], y: Ref[T, N], s: Out[T, N], d: Out[T, N], p: Out[T, N]):
    for i in lend.grid(N):
        s[i] = x[i] + y[i]
        d[i] = x[i] - y[i]
        p[i] = x[i] * y[i]


@lend.kernel
def narrow_floats(x: Ref[f16, N], y: Ref[bf16, N], q: Out[f16, N], r: Out[bf16, N], m: Out[f32, N]):
    for i in lend.grid(N):
        q[i] = x[i] / (x[i] + 1)
        r[i] = math.sqrt(abs(y[i])) - y[i] / 2
        m[i] = x[i] * f32(y[i])


@lend.kernel
def sum_f16(x: Ref[f16, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def scalars(a: i8, b: u8, c: f16, d: bf16, e: f32, f: f64, g: i64, h: u32) -> tuple[i64, f64]:
    return a + g + b + h, c + e + d + f


def exact_cast(x, to):
    """What a cast gives, from Python's own numbers."""
    aim = DTYPES[to]
    if aim.kind == "b":
        return x.astype(np.float64) != 0 if x.dtype.kind not in "iu" else x != 0
    if aim.kind in "iu":
        info = np.iinfo(aim)
        out = []
        for v in x.tolist():
            if isinstance(v, float):
                v = 0 if math.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
            out.append((int(v) - info.min) % (info.max - info.min + 1) + info.min)
        return np.array(out, aim)
    return np.array([v if isinstance(v, float) else int(v) for v in x.tolist()]).astype(aim) if len(x) else np.zeros(0, aim)


def values(name):
    dtype = DTYPES[name]
    if dtype.kind == "b":
        return np.array([False, True, True] * 7)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, info.max, info.min, info.max - 1, 77, info.min // 3, info.max // 2 + 1] * 3, dtype)
    wide = [
        0.0,
        -0.0,
        1.5,
        -1.5,
        2.5,
        127.5,
        128.0,
        -129.0,
        255.9,
        256.0,
        -0.9,
        math.inf,
        -math.inf,
        math.nan,
        65535.0,
        1e30,
        -1e30,
        2.0**31,
        2.0**63,
        2.0**64,
        1e-8,
    ]
    with np.errstate(over="ignore"):
        return np.array(wide).astype(dtype)


@pytest.mark.parametrize("source", DTYPES)
def test_casts_from_one_type_to_all(target, source):
    for to in DTYPES:
        x = values(source)
        if DTYPES[source].kind == "V" or source in FLOATS:
            x = x[np.isfinite(x.astype(np.float64)) | (to not in FLOATS)]
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64) if source in FLOATS else x
            expected = exact_cast(wide, to)
        for run in (cast, cast.py):
            y = np.ones(len(x), DTYPES[to])
            run(x, y, getattr(lend, to))
            assert y.tobytes() == np.asarray(expected, DTYPES[to]).tobytes(), (
                f"{source} to {to} by {run}: {y} instead of {expected}"
            )


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_arithmetic_in_every_type(target, name):
    def reference(x, y, s, d, p):
        s[...], d[...], p[...] = x + y, x - y, x * y

    def arguments(rng, n):
        x, y = rng.integers(-128, 128, (2, n)).astype(DTYPES[name])
        return x, y, *np.zeros((3, n), DTYPES[name])

    check(arithmetic, reference, arguments, target=target, sizes=(0, 17, 1000), layouts=("C", "unaligned"), rtol=0, strict=True)


def test_narrow_floats_round_after_each_operation(target):
    def reference(x, y, q, r, m):
        q[...] = x / (x + np.float16(1))
        r[...] = np.sqrt(np.abs(y)) - y / ml_dtypes.bfloat16(2)
        m[...] = x.astype(np.float32) * y.astype(np.float32)

    def arguments(rng, n):
        x = (4 * rng.random(n)).astype(np.float16)
        y = rng.normal(size=n).astype(ml_dtypes.bfloat16)
        return x, y, np.zeros_like(x), np.zeros_like(y), np.zeros(n, np.float32)

    check(narrow_floats, reference, arguments, target=target, rtol=0, strict=True)


def test_sums_of_narrow_floats_in_a_wider_type(target):
    check(
        sum_f16, lambda x: x.sum(dtype=np.float32), lambda rng, n: (rng.random(n).astype(np.float16),), target=target, rtol=1e-5
    )


def test_scalar_arguments_of_every_type(target):
    for run in (scalars, scalars.py):
        whole, real = run(-128, 255, 1.5, 2.0, 0.1, 0.2, -(2**62), 2**32 - 1)
        assert whole == -128 + 255 - 2**62 + 2**32 - 1
        assert real == pytest.approx(1.5 + 2.0 + float(np.float32(0.1)) + 0.2, rel=1e-6)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, 128),
        (0, -129),
        (1, -1),
        (1, 256),
        (6, 2**63),
        (7, -1),
        (0, 1.0),
        (6, 1.5),
        (0, "1"),
        (5, None),
        (4, 1j),
        (0, np.int16(1)),
        (4, np.float64(1)),
    ],
)
def test_scalar_arguments_that_do_not_fit(target, position, value):
    good = [1, 1, 1.0, 1.0, 1.0, 1.0, 1, 1]
    scalars(*good)
    with pytest.raises(lend.ArgumentError) as caught:
        scalars(*good[:position], value, *good[position + 1 :])
    assert "abcdefgh"[position] in str(caught.value)


@pytest.mark.parametrize(
    ("position", "value"),
    [(6, np.int16(7)), (6, np.uint32(7)), (5, np.float32(7)), (5, np.int32(7)), (5, 7), (4, 7), (4, np.int8(7)), (6, True)],
)
def test_numpy_scalars_that_widen_without_loss(target, position, value):
    zeros = [0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0]
    whole, real = scalars(*zeros[:position], value, *zeros[position + 1 :])
    assert whole + real == int(value)


@lend.kernel
def widen(a: Ref[i8, N], b: Ref[u8, N], c: Ref[i32, N], f: Ref[f32, N], out: Out[f64, N]):
    for i in lend.grid(N):
        out[i] = a[i] * f[i] + b[i] * f[i] + c[i] * 0.5 + i


def test_implicit_widening_loses_nothing(target):
    def reference(a, b, c, f, out):
        g = f.astype(np.float64)
        out[...] = (a * f + b * f).astype(np.float64) * (0 * g + 1) + c * 0.5 + np.arange(len(c))

    def arguments(rng, n):
        return (
            rng.integers(-128, 128, n).astype(np.int8),
            rng.integers(0, 256, n).astype(np.uint8),
            rng.integers(-(2**30), 2**30, n).astype(np.int32),
            rng.integers(0, 99, n).astype(np.float32),
            np.zeros(n),
        )

    check(widen, reference, arguments, target=target)


def test_all_pairs_of_scalar_types_have_a_cast(target):
    x = np.ones(2, np.int8)
    for source, to in itertools.product(("i8", "u64", "f64"), DTYPES):
        y = np.zeros(2, DTYPES[to])
        cast(x.astype(DTYPES[source]), y, getattr(lend, to))
        assert (y.astype(np.float64) == 1).all()
