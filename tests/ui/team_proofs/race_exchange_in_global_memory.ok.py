import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def swap(x: Mut[f64, M, 8]):
    for b in lend.blocks(M):
        for t in lend.threads(8):
            v = x[b, 7 - t]
            lend.sync()
            x[b, t] = v
