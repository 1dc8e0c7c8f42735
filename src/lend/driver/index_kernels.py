"""The loops that test index arrays with gaps between their elements, written in lend itself.

Does: read an array once, in parallel.  Does not: know index types, layouts to choose from, or words for what is wrong
(`index_arrays.py`), or arrays without gaps, whose tests are `targets/cpu/index_tests_ir.py`.
Invariants: elements come as unsigned integers, so that one comparison finds negative ones too.

Example: `greatest_1(np.array([3, 1, -1]).view(np.uint64))` is 2**64 - 1.
"""

from __future__ import annotations

from lend.driver.kernel import kernel
from lend.language.borrows import Ref, T, bool_
from lend.language.dims import B, C, D, H, K, L, M, N
from lend.language.intrinsics import grid

BLOCK = 128
"""Elements that are looked at in one stretch: long enough for vectors, short enough to share among threads."""


@kernel
def greatest_1(x: Ref[T, N]) -> T:
    """The greatest element; at least one."""
    top = x[0]
    for i in grid(N):
        top = max(top, x[i])
    return top


@kernel
def greatest_2(x: Ref[T, M, N]) -> T:
    """The greatest element; at least one."""
    top = x[0, 0]
    for i, j in grid(M, N):
        top = max(top, x[i, j])
    return top


@kernel
def greatest_6(x: Ref[T, B, C, D, H, K, L]) -> T:
    """The greatest element; at least one."""
    top = x[0, 0, 0, 0, 0, 0]
    for b, c, d, h, k, j in grid(B, C, D, H, K, L):
        top = max(top, x[b, c, d, h, k, j])
    return top


@kernel
def descends(x: Ref[T, N]) -> bool_:
    """Whether some element is less than the one before it."""
    wrong = False
    for b in grid((0, N, BLOCK)):
        found, before = False, x[b]
        for k in range(b + 1, min(b + BLOCK + 1, N)):
            now = x[k]
            found |= before > now
            before = now
        wrong |= found
    return wrong
