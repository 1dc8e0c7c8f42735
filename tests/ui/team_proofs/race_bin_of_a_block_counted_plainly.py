import lend
from lend import Atomic, Mut, Ref, i32
from lend.dims import N, K


@lend.kernel
def count(x: Ref[i32, N], h: Mut[i32, 8]):
    for b in lend.blocks(N // 16):
        for t in lend.threads(16):
            h[x[16 * b + t] % 8] += 1
