import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def shift(x: Mut[f64, M, 8]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = x[b, t]
            lend.sync()
            v = s[(t + 1) % 8]
            s[t] = v
            x[b, t] = s[t]
