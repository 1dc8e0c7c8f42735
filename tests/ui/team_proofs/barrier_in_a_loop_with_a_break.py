import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def search(x: Mut[f64, M, 8]):
    for b in lend.blocks(M):
        for t in lend.threads(8):
            for k in range(M):
                if t > k:
                    break
                lend.sync()
            x[b, t] = 1.0
