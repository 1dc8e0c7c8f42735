"""The loops that test index arrays, written in lend itself.

Does: read an array once, in parallel, and say whether its elements are what an index type promises.  Does not: know index types,
layouts to choose from, or words for what is wrong (`index_arrays.py`).
Invariants: elements come as unsigned integers, so that one comparison finds negative ones too.

Example: `greatest_1(np.array([3, 1, -1]).view(np.uint64))` is 2**64 - 1.
"""

from __future__ import annotations

from lend.driver.kernel import kernel
from lend.language.borrows import Mut, Out, Ref, T, bool_, comptime, i64, u64
from lend.language.dims import B, C, D, Dim, H, K, L, M, N, W
from lend.language.intrinsics import cdiv, grid, unchecked

BLOCK = 128
"""Elements that are looked at in one stretch: long enough for vectors, short enough to share among threads."""


class Starts(Dim):
    """One more than parts."""

    equals = C + 1


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
        found, before = False, x[b]
        for k in range(b + 1, min(b + BLOCK + 1, N)):
            now = x[k]
            found |= before >= now if strictly else before > now
            before = now
        wrong |= found
    return wrong


@kernel
def mark(x: Ref[T, N], starts: Ref[i64, Starts], seen: Mut[u64, C, W], outside: Out[bool_, C], longest: i64, bound: u64):
    """Set a bit for each element; elements are distinct if there are as many bits as elements (`marks`).

    x[starts[c]:starts[c + 1]], of at most `longest` elements, have their bits in row c of `seen`, which has `bound` bits or more.
    `outside`: whether one of them is not below `bound`. No bit is tested before it is set, which would double the time.
    """
    blocks = cdiv(longest, BLOCK)  # the length of a loop, known before it: so each part is a chunk of its own
    for c in grid(C):
        found = False
        with unchecked("k lies in part c of x, and a value below `bound` has a bit in each row"):
            row, end = seen[c, :], starts[c + 1]
            for block in range(blocks):
                start = starts[c] + block * BLOCK
                for k in range(start, min(start + BLOCK, end)):
                    value = u64(x[k])
                    if value < bound:
                        row[i64(value >> 6)] |= u64(1) << (value & 63)
                    else:
                        found = True
        outside[c] = found


@kernel
def marks(seen: Ref[u64, C, W]) -> i64:
    """How many bits are set in some row."""
    count = i64(0)
    for w in grid(W):
        bits = u64(0)
        for c in range(C):
            bits |= seen[c, w]
        count += i64(int.bit_count(bits))
    return count
