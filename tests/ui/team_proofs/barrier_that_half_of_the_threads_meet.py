import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def fold(x: Mut[f64, M, 16]):
    for b in lend.blocks(M):
        for t in lend.threads(16):
            if t < 8:
                lend.sync()
            x[b, t] += 1.0
