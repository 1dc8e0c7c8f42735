import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N]):
    for b in lend.blocks(N):
        s = lend.shared(Atomic[i32, N], 8)
        for t in lend.threads(8):
            s[t] += 1
