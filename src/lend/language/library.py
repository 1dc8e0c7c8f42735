"""Functions of `math` and NumPy that are a few lines of kernel code.

Does: define them as device functions, inlined where they are called.  Does not: decide which Python objects they stand for beyond
their names in `FUNCTIONS` (see `functions.py`).
Invariants: bodies use only what every kernel may use; results follow Python's and NumPy's definitions of the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lend.language.abi import MAX_SIZE
from lend.language.borrows import Ref, T, comptime, i64
from lend.language.dims import N
from lend.language.intrinsics import grid, indices_differ, zeros

LN2 = math.log(2.0)  # a number here: in a kernel the call would give f64, whatever it meets
LOG2_E = 1.0 / LN2


def degrees(x: Any) -> Any:
    """Radians to degrees."""
    return x * (180.0 / math.pi)


def radians(x: Any) -> Any:
    """Degrees to radians."""
    return x * (math.pi / 180.0)


def square(x: Any) -> Any:
    """The product of x with itself."""
    return x * x


def reciprocal(x: Any) -> Any:
    """One over x."""
    return 1.0 / x


def sign(x: Any) -> Any:
    """-1, 0 or 1 in the type of x (a signed one); NaN for NaN."""
    if x > 0:
        return 1
    if x < 0:
        return -1
    return x


def heaviside(x: Any, h0: Any) -> Any:
    """0 below zero, h0 at zero, 1 above."""
    if x < 0:
        return 0
    if x > 0:
        return 1
    if x == 0:
        return h0
    return x


def clip(x: Any, low: Any, high: Any) -> Any:
    """x, or the bound it lies beyond."""
    return min(max(x, low), high)


def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) without overflow."""
    if a == b:
        return max(a, b) + LN2
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


def logaddexp2(a: Any, b: Any) -> Any:
    """log2(2**a + 2**b) without overflow."""
    if a == b:
        return max(a, b) + 1.0
    return max(a, b) + np.log1p(np.exp2(-abs(a - b))) * LOG2_E


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor, by Euclid."""
    x = abs(a)
    y = abs(b)
    while y != 0:
        x, y = y, x % y
    return x


def lcm(a: Any, b: Any) -> Any:
    """The least common multiple; 0 if either is 0."""
    g = gcd(a, b)
    if g == 0:
        return 0
    return abs(a // g * b)


def isqrt(n: Any) -> Any:
    """The floor of the square root of a non-negative integer, by Newton's method from above."""
    x = n
    y = (x >> 1) + (x & 1)
    while y < x:
        x = y
        y = (x + n // x) >> 1
    return x


def distinct(x: Ref[T, N], bound: i64, element: comptime[type[int]]) -> Any:
    """A copy of x; the first place of an element outside 0..bound-1, and that element; the first two places of equal elements.

    A place that is N: there is none.
    """
    own = zeros(element, N)
    for i in grid(N):
        own[i] = x[i]
    bound = max(0, min(bound, MAX_SIZE))
    wrong, first, second = N, N, N
    if not indices_differ(own, bound):
        for k in range(N):
            value = i64(own[k])
            if value < 0 or value >= bound:
                wrong = k
                break
        if wrong == N:  # two are equal: which?
            places = zeros(i64, bound)
            for k in range(N):
                value = i64(own[k])
                if 0 <= value < bound:
                    if places[value] != 0:
                        first = places[value] - 1
                        second = k
                        break
                    places[value] = k + 1
    found = zeros(i64, 4)  # not for proofs: what is read from an array has no history
    found[0], found[2], found[3] = wrong, first, second
    if 0 <= wrong < N:
        found[1] = i64(own[wrong])
    return own, found[0], found[1], found[2], found[3]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "degrees": degrees,
    "rad2deg": degrees,
    "radians": radians,
    "deg2rad": radians,
    "square": square,
    "reciprocal": reciprocal,
    "sign": sign,
    "heaviside": heaviside,
    "clip": clip,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "gcd": gcd,
    "lcm": lcm,
    "isqrt": isqrt,
}
