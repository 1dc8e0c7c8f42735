import lend
from lend import Atomic, comptime, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N], n: comptime[int]):
    for b in lend.blocks(N):
        for t in lend.threads(n):
            h[b] += 1
