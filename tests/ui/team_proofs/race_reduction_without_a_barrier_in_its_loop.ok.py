import lend
from lend import Out, Ref, f64
from lend.dims import M


@lend.kernel
def sums(x: Ref[f64, M, 16], out: Out[f64, M]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 16)
        for t in lend.threads(16):
            s[t] = x[b, t]
            lend.sync()
            d = 8
            while d > 0:
                if t < d:
                    s[t] += s[t + d]
                d //= 2
                lend.sync()
            if t == 0:
                out[b] = s[0]
