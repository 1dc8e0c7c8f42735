"""The loops that test index arrays, written in lend itself.

Does: read an array once, in parallel, and say whether its elements are what an index type promises.  Does not: know index types,
layouts to choose from, or words for what is wrong (`index_arrays.py`).
Invariants: elements come as unsigned integers, so that one comparison finds negative ones too.

Example: `greatest_1(np.array([3, 1, -1]).view(np.uint64))` is 2**64 - 1.
"""

from __future__ import annotations

from lend.driver.kernel import kernel
from lend.language.borrows import Mut, Ref, T, bool_, comptime, i64, u64
from lend.language.dims import B, C, D, H, K, L, M, N, W
from lend.language.intrinsics import grid, unchecked

BLOCK = 128
"""Elements that one iteration compares with their neighbours: long enough for vectors, short enough to share among threads."""


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
def falls(x: Ref[T, N], strictly: comptime[bool]) -> bool_:
    """Whether some element is less than the one before it; or, where they must rise `strictly`, equal to it."""
    wrong = False
    for b in grid((0, N, BLOCK)):
        found = False
        with unchecked("b < N, and k runs below N"):
            before = x[b]
            for k in range(b + 1, min(b + BLOCK + 1, N)):
                now = x[k]
                found |= before >= now if strictly else before > now
                before = now
        wrong |= found
    return wrong


@kernel
def repeats(x: Ref[T, N], seen: Mut[u64, C, W], bound: u64) -> bool_:
    """Whether one of C parts of x has an element twice, or not below `bound`. `seen`: a row of bits for each part, set for each
    element."""
    wrong = False
    for c in grid(C):
        found = False
        for k in range(c * N // C, (c + 1) * N // C):
            value = u64(x[k])
            if value < bound:
                word, bit = i64(value >> 6), u64(1) << (value & 63)
                before = seen[c, word]
                found |= before & bit != 0
                seen[c, word] = before | bit
            else:
                found = True
        wrong |= found
    return wrong


@kernel
def meets(seen: Ref[u64, C, W]) -> bool_:
    """Whether two rows have a bit in common."""
    wrong = False
    for w in grid(W):
        found, all_bits = u64(0), u64(0)
        for c in range(C):
            found |= all_bits & seen[c, w]
            all_bits |= seen[c, w]
        wrong |= found != 0
    return wrong
