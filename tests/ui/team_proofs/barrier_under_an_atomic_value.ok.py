import lend
from lend import Atomic, Mut, i32
from lend.dims import M


@lend.kernel
def ticket(h: Atomic[i32, M], y: Mut[i32, M, 8]):
    for b in lend.blocks(M):
        for t in lend.threads(8):
            v = h.add(b, 1)
            if b > 5:
                lend.sync()
            y[b, t] = v
