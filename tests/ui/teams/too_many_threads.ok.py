import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N]):
    for b in lend.blocks(N):
        for t, u in lend.threads(32, 32):
            h[b] += 1
