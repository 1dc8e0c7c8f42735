import lend
from lend import Mut, Ref, i32
from lend.dims import M


@lend.kernel
def mark(x: Ref[i32, M, 8], y: Mut[i32, M, 8]):
    for b in lend.blocks(M):
        for t in lend.threads(8):
            if x[b, t] > 0:
                lend.sync()
            y[b, t] = 1
