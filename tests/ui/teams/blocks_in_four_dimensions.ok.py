import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N]):
    for a, b, c in lend.blocks(N, 2, 2):
        for t in lend.threads(8):
            h[a] += 1
