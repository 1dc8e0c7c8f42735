"""Team-level kernels of our own: what they compute, on which arguments, and the same in NumPy.

Does: hold plain functions (`lend.kernel` is applied by who uses them), so that tests can run them, take their barriers away, or
judge them.  Does not: test anything.
Invariants: each is right: no race, no access outside, nothing read unwritten, all threads at the same barriers.

Example: `case = CASES["reduce_halving"]; kernel = lend.kernel(case.function); kernel(**case.arguments(rng))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lend
from lend import Atomic, Mut, Out, Ref, comptime, f32, f64, i32, i64
from lend.dims import K, M, N

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A kernel, arguments for it, and what it leaves in those it writes.

    `expected` takes the arguments as they were before the call. `exact`: the results are the same to the last bit.
    """

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], Arguments]
    expected: Callable[[Arguments], Arguments]
    exact: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


CASES: dict[str, Case] = {}


def case(
    arguments: Callable[[np.random.Generator], Arguments], expected: Callable[[Arguments], Arguments], *, exact: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into `CASES`."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = Case(function, arguments, expected, exact)
        return function

    return enter


def blocks_of(values: np.ndarray, size: int) -> np.ndarray:
    """`values` as rows of `size`, zeros behind the last."""
    rows = -(-len(values) // size)
    out = np.zeros((rows, size), values.dtype)
    out.reshape(-1)[: len(values)] = values
    return out


# -------------------------------------------------------------------------------------------------- reductions


def sums_arguments(rng: np.random.Generator) -> Arguments:
    return {"x": rng.standard_normal(100), "out": np.zeros(4)}


def sums(given: Arguments) -> Arguments:
    return {"out": blocks_of(given["x"], 32).sum(1)}


@case(sums_arguments, sums)
def reduce_halving(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32, LOG: comptime[int] = 5):
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            s[t] = x[i] if i < N else 0.0
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] += s[t + half]
                lend.sync()
            if t == 0:
                out[b] = s[0]


@case(sums_arguments, sums)
def reduce_doubling(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32, LOG: comptime[int] = 5):
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            s[t] = x[i] if i < N else 0.0
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                if t % (2 * step) == 0:
                    s[t] += s[t + step]
                lend.sync()
            if t == 0:
                out[b] = s[0]


@case(sums_arguments, sums)
def reduce_packed(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32, LOG: comptime[int] = 5):
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            s[t] = x[i] if i < N else 0.0
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                at = 2 * step * t
                if at + step < T:
                    s[at] += s[at + step]
                lend.sync()
            if t == 0:
                out[b] = s[0]


@case(sums_arguments, sums)
def reduce_pairs_first(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 16, LOG: comptime[int] = 4):
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * (2 * T) + t
            v = x[i] if i < N else 0.0
            w = x[i + T] if i + T < N else 0.0
            s[t] = v + w
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] = s[t] + s[t + half]
                lend.sync()
            if t == 0:
                out[b] = s[0]


@case(sums_arguments, sums)
def reduce_word(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32):
    for b in lend.blocks(M):
        total = 0.0
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                total += x[i]
        for t in lend.threads(1):
            out[b] = total


@case(sums_arguments, sums)
def reduce_subgroups(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32):
    for b in lend.blocks(M):
        s = lend.shared(f64, 4)
        for t in lend.threads(T):
            sg = lend.subgroup(8)
            i = b * T + t
            v = x[i] if i < N else 0.0
            part = sg.reduce_add(v)
            if t % 8 == 0:
                s[t // 8] = part
            lend.sync()
            if t == 0:
                out[b] = (s[0] + s[1]) + (s[2] + s[3])


@case(sums_arguments, sums)
def reduce_serial(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 32):
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            s[t] = x[i] if i < N else 0.0
            lend.sync()
            if t == T - 1:
                total = 0.0
                for k in range(T):
                    total += s[k]
                out[b] = total


# ------------------------------------------------------------------------------------------------------- scans


def scan_arguments(rng: np.random.Generator) -> Arguments:
    return {"x": rng.integers(-9, 10, 64), "out": np.zeros(64, np.int64)}


def scans(given: Arguments) -> Arguments:
    return {"out": np.cumsum(given["x"].reshape(4, 16), 1).reshape(-1)}


@case(scan_arguments, scans, exact=True)
def scan_in_place(x: Ref[i64, N], out: Out[i64, N], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(i64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                v = s[t - step] if t >= step else i64(0)
                lend.sync()
                s[t] += v
                lend.sync()
            out[b * T + t] = s[t]


@case(scan_arguments, scans, exact=True)
def scan_two_buffers(x: Ref[i64, N], out: Out[i64, N], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(i64, 2, T)
        for t in lend.threads(T):
            s[0, t] = x[b * T + t]
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                old = k % 2
                v = s[old, t]
                if t >= step:
                    v += s[old, t - step]
                s[1 - old, t] = v
                lend.sync()
            out[b * T + t] = s[LOG % 2, t]


@case(
    scan_arguments,
    lambda given: {"out": (np.cumsum(given["x"].reshape(4, 16), 1) - given["x"].reshape(4, 16)).reshape(-1)},
    exact=True,
)
def scan_blelloch(x: Ref[i64, N], out: Out[i64, N], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(i64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                at = 2 * step * (t + 1) - 1
                if at < T:
                    s[at] += s[at - step]
                lend.sync()
            if t == 0:
                s[T - 1] = 0
            lend.sync()
            for k in range(LOG):
                step = T >> (k + 1)
                at = 2 * step * (t + 1) - 1
                if at < T:
                    v = s[at - step]
                    s[at - step] = s[at]
                    s[at] += v
                lend.sync()
            out[b * T + t] = s[t]


# --------------------------------------------------------------------------------------------- tiles and stencils


@case(
    lambda rng: {"x": rng.standard_normal((13, 22)), "out": np.zeros((22, 13))},
    lambda given: {"out": given["x"].T},
    exact=True,
)
def transpose(x: Ref[f64, N, M], out: Out[f64, M, N], T: comptime[int] = 4):
    for bi, bj in lend.blocks(lend.cdiv(N, T), lend.cdiv(M, T)):
        tile = lend.shared(f64, T, T)
        for ti, tj in lend.threads(T, T):
            i = bi * T + ti
            j = bj * T + tj
            tile[ti, tj] = x[i, j] if i < N and j < M else 0.0
            lend.sync()
            p = bj * T + ti
            q = bi * T + tj
            if p < M and q < N:
                out[p, q] = tile[tj, ti]


@case(
    lambda rng: {
        "a": rng.standard_normal((7, 10)).astype(np.float32),
        "b": rng.standard_normal((10, 9)).astype(np.float32),
        "c": np.zeros((7, 9), np.float32),
    },
    lambda given: {"c": given["a"] @ given["b"]},
)
def matmul(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N], T: comptime[int] = 4):
    for bi, bj in lend.blocks(lend.cdiv(M, T), lend.cdiv(N, T)):
        ta = lend.shared(f32, T, T)
        tb = lend.shared(f32, T, T)
        for ti, tj in lend.threads(T, T):
            i = bi * T + ti
            j = bj * T + tj
            acc = f32(0)
            for k0 in range(0, K, T):
                ta[ti, tj] = a[i, k0 + tj] if i < M and k0 + tj < K else 0
                tb[ti, tj] = b[k0 + ti, j] if k0 + ti < K and j < N else 0
                lend.sync()
                for k in range(T):
                    acc += ta[ti, k] * tb[k, tj]
                lend.sync()
            if i < M and j < N:
                c[i, j] = acc


@case(
    lambda rng: {"a": rng.standard_normal((13, 21)), "x": rng.standard_normal(21), "y": np.zeros(13)},
    lambda given: {"y": given["a"] @ given["x"]},
)
def matvec_tiled(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N], T: comptime[int] = 8):
    for b in lend.blocks(lend.cdiv(N, T)):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            acc = 0.0
            for j0 in range(0, M, T):
                s[t] = x[j0 + t] if j0 + t < M else 0.0
                lend.sync()
                if i < N:
                    for j in range(T):
                        if j0 + j < M:
                            acc += a[i, j0 + j] * s[j]
                lend.sync()
            if i < N:
                y[i] = acc


def stencil(given: Arguments) -> Arguments:
    x = np.concatenate([[0.0], given["x"], [0.0]])
    return {"y": x[:-2] + 2.0 * x[1:-1] + x[2:]}


@case(lambda rng: {"x": rng.standard_normal(37), "y": np.zeros(37)}, stencil)
def halo_stencil(x: Ref[f64, N], y: Out[f64, N], T: comptime[int] = 8):
    for b in lend.blocks(lend.cdiv(N, T)):
        s = lend.shared(f64, T + 2)
        for t in lend.threads(T):
            i = b * T + t
            s[t + 1] = x[i] if i < N else 0.0
            if t == 0:
                s[0] = x[i - 1] if i >= 1 and i - 1 < N else 0.0
            if t == T - 1:
                s[T + 1] = x[i + 1] if i + 1 < N else 0.0
            lend.sync()
            if i < N:
                y[i] = s[t] + 2.0 * s[t + 1] + s[t + 2]


def convolved(given: Arguments) -> Arguments:
    return {"y": np.convolve(given["x"], given["w"][::-1], "valid")}


@case(lambda rng: {"x": rng.standard_normal(34), "w": rng.standard_normal(5), "y": np.zeros(30)}, convolved)
def convolution(x: Ref[f64, M], w: Ref[f64, 5], y: Out[f64, N], T: comptime[int] = 8):
    assert M == N + 4
    for b in lend.blocks(lend.cdiv(N, T)):
        s = lend.shared(f64, T + 4)
        ws = lend.shared(f64, 5)
        for t in lend.threads(T):
            if t < 5:
                ws[t] = w[t]
            for k in range(t, T + 4, T):
                i = b * T + k
                s[k] = x[i] if i < M else 0.0
            lend.sync()
            i = b * T + t
            if i < N:
                acc = 0.0
                for k in range(5):
                    acc += ws[k] * s[t + k]
                y[i] = acc


def relaxed(given: Arguments) -> Arguments:
    x = given["x"].reshape(3, 8).copy()
    for _ in range(3):
        left, right = np.roll(x, 1, 1), np.roll(x, -1, 1)
        left[:, 0], right[:, -1] = 0.0, 0.0
        x = 0.5 * (left + right)
    return {"x": x.reshape(-1)}


@case(lambda rng: {"x": rng.standard_normal(24)}, relaxed, exact=True)
def jacobi_steps(x: Mut[f64, N], T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T + 2)
        for t in lend.threads(T):
            s[t + 1] = x[b * T + t]
            if t == 0:
                s[0] = 0.0
                s[T + 1] = 0.0
            lend.sync()
            for _step in range(3):
                v = 0.5 * (s[t] + s[t + 2])
                lend.sync()
                s[t + 1] = v
                lend.sync()
            x[b * T + t] = s[t + 1]


def red_black(given: Arguments) -> Arguments:
    x = given["x"].reshape(2, 16).copy()
    for row in x:
        for _ in range(2):
            for colour in (0, 1):
                for i in range(1 + colour, 15, 2):
                    row[i] = 0.5 * (row[i - 1] + row[i + 1])
    return {"x": x.reshape(-1)}


@case(lambda rng: {"x": rng.standard_normal(32)}, red_black, exact=True)
def gauss_seidel(x: Mut[f64, N], T: comptime[int] = 16):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            for _step in range(2):
                if t % 2 == 1 and t < T - 1:
                    s[t] = 0.5 * (s[t - 1] + s[t + 1])
                lend.sync()
                if t % 2 == 0 and t > 0:
                    s[t] = 0.5 * (s[t - 1] + s[t + 1])
                lend.sync()
            x[b * T + t] = s[t]


# ---------------------------------------------------------------------------------------- butterflies and sorting


@case(
    lambda rng: {"x": rng.standard_normal(48)},
    lambda given: {"x": np.sort(given["x"].reshape(3, 16), 1).reshape(-1)},
    exact=True,
)
def bitonic_sort(x: Mut[f64, N], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            for p in range(LOG):
                for q in range(p + 1):
                    size = 2 << p
                    step = size >> (q + 1)
                    low = 2 * step * (t // step) + t % step
                    if low + step < T:
                        up = (low // size) % 2 == 0
                        u = s[low]
                        v = s[low + step]
                        if (u > v) == up:
                            s[low] = v
                            s[low + step] = u
                    lend.sync()
            x[b * T + t] = s[t]


def walsh(given: Arguments) -> Arguments:
    h = np.ones((1, 1))
    for _ in range(4):
        h = np.block([[h, h], [h, -h]])
    return {"x": (given["x"].reshape(2, 16) @ h).reshape(-1)}


@case(lambda rng: {"x": rng.integers(-9, 9, 32).astype(np.float64)}, walsh, exact=True)
def walsh_transform(x: Mut[f64, N], T: comptime[int] = 8, LOG: comptime[int] = 4):
    assert N % (2 * T) == 0
    for b in lend.blocks(N // (2 * T)):
        s = lend.shared(f64, 2 * T)
        for t in lend.threads(T):
            s[t] = x[b * (2 * T) + t]
            s[t + T] = x[b * (2 * T) + t + T]
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                low = 2 * step * (t // step) + t % step
                u = s[low]
                v = s[low + step]
                s[low] = u + v
                s[low + step] = u - v
                lend.sync()
            x[b * (2 * T) + t] = s[t]
            x[b * (2 * T) + t + T] = s[t + T]


def transformed(given: Arguments) -> Arguments:
    bits = [int(f"{i:04b}"[::-1], 2) for i in range(16)]
    rows = (given["re"] + 1j * given["im"]).reshape(2, 16)
    out = np.fft.fft(rows[:, bits], axis=1).reshape(-1)
    return {"re": out.real, "im": out.imag}


def fft_arguments(rng: np.random.Generator) -> Arguments:
    angles = -2.0 * np.pi * np.arange(8) / 16
    return {"re": rng.standard_normal(32), "im": rng.standard_normal(32), "c": np.cos(angles), "s": np.sin(angles)}


@case(fft_arguments, transformed)
def fft_butterfly(re: Mut[f64, N], im: Mut[f64, N], c: Ref[f64, 8], s: Ref[f64, 8], T: comptime[int] = 8, LOG: comptime[int] = 4):
    assert N % (2 * T) == 0
    for b in lend.blocks(N // (2 * T)):
        a = lend.shared(f64, 2, 2 * T)
        for t in lend.threads(T):
            for k in range(2):
                a[0, t + k * T] = re[b * (2 * T) + t + k * T]
                a[1, t + k * T] = im[b * (2 * T) + t + k * T]
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                low = 2 * step * (t // step) + t % step
                high = low + step
                turn = (t % step) * (T >> k)
                wr = c[turn]
                wi = s[turn]
                vr = a[0, high] * wr - a[1, high] * wi
                vi = a[0, high] * wi + a[1, high] * wr
                ur = a[0, low]
                ui = a[1, low]
                a[0, low] = ur + vr
                a[1, low] = ui + vi
                a[0, high] = ur - vr
                a[1, high] = ui - vi
                lend.sync()
            for k in range(2):
                re[b * (2 * T) + t + k * T] = a[0, t + k * T]
                im[b * (2 * T) + t + k * T] = a[1, t + k * T]


def split_by_bit(given: Arguments) -> Arguments:
    rows = given["x"].reshape(3, 16)
    return {"out": np.concatenate([row[np.argsort((row >> given["bit"]) & 1, kind="stable")] for row in rows])}


@case(
    lambda rng: {"x": rng.integers(0, 16, 48).astype(np.int32), "bit": 2, "out": np.zeros(48, np.int32)},
    split_by_bit,
    exact=True,
)
def radix_pass(x: Ref[i32, N], bit: i32, out: Out[i32, N], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N % T == 0
    for b in lend.blocks(N // T):
        ones = lend.shared(i32, T)
        place = lend.shared(i32, T)
        keys = lend.shared(i32, T)
        for t in lend.threads(T):
            key = x[b * T + t]
            one = (key >> (bit & 31)) & 1
            keys[t] = key
            ones[t] = one
            lend.sync()
            for k in range(LOG):
                step = 1 << k
                v = ones[t - step] if t >= step else i32(0)
                lend.sync()
                ones[t] += v
                lend.sync()
            zeros = i32(T) - ones[T - 1]
            place[t] = zeros + ones[t] - 1 if one == 1 else i32(t) - ones[t]
            lend.sync()
            found = i32(0)
            for k in range(T):
                if place[k] == i32(t):
                    found = keys[k]
            out[b * T + t] = found


def largest(given: Arguments) -> Arguments:
    return {"out": -np.sort(-given["x"].reshape(2, 16), 1)[:, :3]}


@case(lambda rng: {"x": rng.permutation(32).astype(np.float64), "out": np.zeros((2, 3))}, largest, exact=True)
def top_k(x: Ref[f64, N], out: Out[f64, M, 3], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N == M * T
    for b in lend.blocks(M):
        best = lend.shared(f64, T)
        for t in lend.threads(T):
            own = x[b * T + t]
            for r in range(3):
                best[t] = own
                lend.sync()
                for k in range(LOG):
                    half = T >> (k + 1)
                    if t < half:
                        best[t] = max(best[t], best[t + half])
                    lend.sync()
                top = best[0]
                if t == 0:
                    out[b, r] = top
                if own == top:
                    own = -1e300
                lend.sync()


# -------------------------------------------------------------------------------------------- linear algebra and more


def forces(given: Arguments) -> Arguments:
    x = given["x"]
    d = x[None, :] - x[:, None]
    return {"f": (d / (np.abs(d) ** 3 + 0.25)).sum(1)}


@case(lambda rng: {"x": rng.standard_normal(21), "f": np.zeros(21)}, forces)
def nbody_tiles(x: Ref[f64, N], f: Out[f64, N], T: comptime[int] = 8):
    for b in lend.blocks(lend.cdiv(N, T)):
        tile = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            own = x[i] if i < N else 0.0
            acc = 0.0
            for j0 in range(0, N, T):
                tile[t] = x[j0 + t] if j0 + t < N else own
                lend.sync()
                for j in range(T):
                    d = tile[j] - own
                    if j0 + j < N:
                        acc += d / (abs(d) * abs(d) * abs(d) + 0.25)
                lend.sync()
            if i < N:
                f[i] = acc


def factored(given: Arguments) -> Arguments:
    a = given["a"].copy()
    for m in a:
        for k in range(6):
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return {"a": a}


@case(lambda rng: {"a": rng.standard_normal((2, 6, 6)) + 6.0 * np.eye(6)}, factored)
def lu_panel(a: Mut[f64, N, 6, 6], T: comptime[int] = 6):
    for b in lend.blocks(N):
        s = lend.shared(f64, T, T)
        for t in lend.threads(T):
            for j in range(T):
                s[t, j] = a[b, t, j]
            lend.sync()
            for k in range(T):
                if t > k:
                    s[t, k] = s[t, k] / s[k, k]
                    for j in range(k + 1, T):
                        s[t, j] -= s[t, k] * s[k, j]
                lend.sync()
            for j in range(T):
                a[b, t, j] = s[t, j]


def paths(given: Arguments) -> Arguments:
    d = given["d"].copy()
    for k in range(5):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return {"d": d}


@case(lambda rng: {"d": rng.integers(1, 30, (5, 5)) * (1 - np.eye(5, dtype=np.int64))}, paths, exact=True)
def shortest_paths(d: Mut[i64, 5, 5], T: comptime[int] = 5):
    for _b in lend.blocks(1):
        s = lend.shared(i64, T, T)
        for i, j in lend.threads(T, T):
            s[i, j] = d[i, j]
            lend.sync()
            for k in range(T):
                v = min(s[i, j], s[i, k] + s[k, j])
                lend.sync()
                s[i, j] = v
                lend.sync()
            d[i, j] = s[i, j]


def aligned(given: Arguments) -> Arguments:
    a, b = given["a"], given["b"]
    h = np.zeros((9, 9), np.int64)
    for i in range(1, 9):
        for j in range(1, 9):
            h[i, j] = h[i - 1, j - 1] + 1 if a[i - 1] == b[j - 1] else max(h[i - 1, j], h[i, j - 1])
    return {"out": h[1:, 1:]}


@case(
    lambda rng: {"a": rng.integers(0, 3, 8), "b": rng.integers(0, 3, 8), "out": np.zeros((8, 8), np.int64)},
    aligned,
    exact=True,
)
def wavefront(a: Ref[i64, 8], b: Ref[i64, 8], out: Out[i64, 8, 8], T: comptime[int] = 8):
    for _b in lend.blocks(1):
        h = lend.shared(i64, T + 1, T + 1)
        for t in lend.threads(T):
            h[t + 1, 0] = 0
            h[0, t + 1] = 0
            if t == 0:
                h[0, 0] = 0
            lend.sync()
            for diagonal in range(2 * T - 1):
                j = diagonal - t
                if j >= 0 and j < T:
                    if a[t] == b[j]:
                        h[t + 1, j + 1] = h[t, j] + 1
                    else:
                        h[t + 1, j + 1] = max(h[t, j + 1], h[t + 1, j])
                lend.sync()
            for j in range(T):
                out[t, j] = h[t + 1, j + 1]


# ---------------------------------------------------------------------------------------------- statistics and counting


@case(
    lambda rng: {"x": rng.integers(0, 8, 70).astype(np.int32), "h": np.zeros(8, np.int32)},
    lambda given: {"h": np.bincount(given["x"], minlength=8).astype(np.int32)},
    exact=True,
)
def histogram_atomic(x: Ref[i32, N], h: Atomic[i32, 8], T: comptime[int] = 16):
    for b in lend.blocks(lend.cdiv(N, T)):
        own = lend.shared(Atomic[i32], 8)
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                own.add(i64(x[i]) & 7, 1)
            lend.sync()
            if t < 8:
                h.add(t, own.load(t))


@case(
    lambda rng: {"x": rng.integers(0, 4, 70).astype(np.int32), "out": np.zeros((5, 4), np.int32)},
    lambda given: {"out": np.stack([np.bincount(given["x"][16 * b : 16 * b + 16], minlength=4) for b in range(5)])},
    exact=True,
)
def histogram_private(x: Ref[i32, N], out: Out[i32, M, 4], T: comptime[int] = 4):
    for b in lend.blocks(M):
        own = lend.shared(i32, T, 4)
        for t in lend.threads(T):
            for k in range(4):
                own[t, k] = 0
            for k in range(4):
                i = b * (4 * T) + t * 4 + k
                if i < N:
                    own[t, i64(x[i]) & 3] += 1
            lend.sync()
            if t < 4:
                total = i32(0)
                for k in range(T):
                    total += own[k, t]
                out[b, t] = total


def softmaxed(given: Arguments) -> Arguments:
    e = np.exp(given["x"] - given["x"].max(1, keepdims=True))
    return {"y": e / e.sum(1, keepdims=True)}


@case(lambda rng: {"x": rng.standard_normal((3, 21)), "y": np.zeros((3, 21))}, softmaxed)
def softmax(x: Ref[f64, N, M], y: Out[f64, N, M], T: comptime[int] = 8, LOG: comptime[int] = 3):
    for b in lend.blocks(N):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            top = -1e300
            for j in range(t, M, T):
                top = max(top, x[b, j])
            s[t] = top
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] = max(s[t], s[t + half])
                lend.sync()
            top = s[0]
            lend.sync()
            total = 0.0
            for j in range(t, M, T):
                total += np.exp(x[b, j] - top)
            s[t] = total
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] += s[t + half]
                lend.sync()
            total = s[0]
            for j in range(t, M, T):
                y[b, j] = np.exp(x[b, j] - top) / total


def normed(given: Arguments) -> Arguments:
    x = given["x"]
    centred = x - x.mean(1, keepdims=True)
    return {"y": centred / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)}


@case(lambda rng: {"x": rng.standard_normal((3, 21)), "y": np.zeros((3, 21))}, normed)
def layer_norm(x: Ref[f64, N, M], y: Out[f64, N, M], T: comptime[int] = 8):
    assert M >= 1
    for b in lend.blocks(N):
        total = 0.0
        for t in lend.threads(T):
            for j in range(t, M, T):
                total += x[b, j]
        mean = total / f64(M)
        square = 0.0
        for t in lend.threads(T):
            for j in range(t, M, T):
                square += (x[b, j] - mean) * (x[b, j] - mean)
        scale = 1.0 / np.sqrt(square / f64(M) + 1e-5)
        for t in lend.threads(T):
            for j in range(t, M, T):
                y[b, j] = (x[b, j] - mean) * scale


# ------------------------------------------------------------------------------------------------- barriers of all kinds


@case(
    lambda rng: {"x": rng.standard_normal(24)},
    lambda given: {"x": given["x"].reshape(3, 8)[:, ::-1].reshape(-1)},
    exact=True,
)
def reverse_global(x: Mut[f64, N], T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        for t in lend.threads(T):
            v = x[b * T + (T - 1 - t)]
            lend.sync()
            x[b * T + t] = v


def rotated(given: Arguments) -> Arguments:
    rows = given["x"].reshape(3, 8)
    return {"x": np.roll(rows, -given["steps"], 1).reshape(-1)}


@case(lambda rng: {"x": rng.standard_normal(24), "steps": 5}, rotated, exact=True)
def rotate_uniform_loop(x: Mut[f64, N], steps: i32, T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            k = i32(0)
            while k < steps:
                v = s[(t + 1) % T]
                lend.sync()
                s[t] = v
                lend.sync()
                k += 1
            x[b * T + t] = s[t]


@case(
    lambda rng: {"x": rng.standard_normal(24), "swap": True},
    lambda given: {"x": given["x"].reshape(3, 8)[:, ::-1].reshape(-1)},
    exact=True,
)
def barrier_under_a_flag(x: Mut[f64, N], swap: lend.bool_, T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            if swap:
                s[t] = x[b * T + t]
                lend.sync()
                x[b * T + t] = s[T - 1 - t]


def shared_neighbours(given: Arguments) -> Arguments:
    rows = given["x"].reshape(2, 8)
    return {"y": (rows + np.roll(rows, -1, 1) + np.roll(rows, -2, 1)).reshape(-1)}


@case(lambda rng: {"x": rng.integers(0, 9, 16), "y": np.zeros(16, np.int64)}, shared_neighbours, exact=True)
def three_threads_loops(x: Ref[i64, N], y: Out[i64, N], T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(i64, T)
        r = lend.shared(i64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            r[t] = s[t] + s[(t + 1) % T]
        for t in lend.threads(T):
            y[b * T + t] = r[t] + s[(t + 2) % T]


def chunk_sums(given: Arguments) -> Arguments:
    x = given["x"].reshape(2, 3, 8)
    return {"out": x.sum(2).reshape(2, 3)}


@case(lambda rng: {"x": rng.integers(0, 9, (2, 24)), "out": np.zeros((2, 3), np.int64)}, chunk_sums, exact=True)
def shared_in_a_loop(x: Ref[i64, N, 24], out: Out[i64, N, 3], T: comptime[int] = 8):
    for b in lend.blocks(N):
        for c in range(3):
            s = lend.shared(i64, T)
            for t in lend.threads(T):
                s[t] = x[b, c * T + t]
                lend.sync()
                if t == 0:
                    total = i64(0)
                    for k in range(T):
                        total += s[k]
                    out[b, c] = total
