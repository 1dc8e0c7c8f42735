import lend
from lend import Mut, Ref, f64
from lend.dims import M


@lend.kernel
def steps(x: Ref[f64, M, 8], y: Mut[f64, M, 8]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            for k in range(3):
                lend.sync()
                y[b, t] += s[7 - t] if k >= 0 else 0.0
                lend.sync()
                s[t] = x[b, t]
