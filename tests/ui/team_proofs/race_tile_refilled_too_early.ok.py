import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def moving(x: Ref[f64, N, 8], y: Out[f64, 8]):
    for _ in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            total = 0.0
            for k in range(N):
                s[t] = x[k, t]
                lend.sync()
                total += s[7 - t]
                lend.sync()
            y[t] = total
