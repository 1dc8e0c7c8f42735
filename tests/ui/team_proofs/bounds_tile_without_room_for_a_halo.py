import lend
from lend import Out, Ref, f64
from lend.dims import M


@lend.kernel
def sums(x: Ref[f64, M, 8], y: Out[f64, M, 8]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = x[b, t]
            lend.sync()
            y[b, t] = s[t + 1]
