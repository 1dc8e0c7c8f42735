import lend
from lend import Mut, i64
from lend.dims import M


@lend.kernel
def scan(x: Mut[i64, M, 16]):
    for b in lend.blocks(M):
        s = lend.shared(i64, 16)
        for t in lend.threads(16):
            s[t] = x[b, t]
            lend.sync()
            d = 1
            while d < 16:
                v = s[t - d] if t >= d else 0
                lend.sync()
                s[t] += v
                d *= 2
            x[b, t] = s[t]
