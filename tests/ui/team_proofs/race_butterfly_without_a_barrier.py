import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def butterfly(x: Mut[f64, M, 16]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 16)
        for t in lend.threads(8):
            s[2 * t] = x[b, 2 * t]
            s[2 * t + 1] = x[b, 2 * t + 1]
            lend.sync()
            for k in range(4):
                h = 1 << k
                i = 2 * h * (t // h) + t % h
                u = s[i]
                v = s[i + h]
                s[i] = u + v
                s[i + h] = u - v
                pass
            lend.sync()
            x[b, 2 * t] = s[2 * t]
            x[b, 2 * t + 1] = s[2 * t + 1]
