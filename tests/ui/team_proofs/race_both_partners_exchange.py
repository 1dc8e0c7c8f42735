import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def sort_pairs(x: Mut[f64, M, 16]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 16)
        for t in lend.threads(16):
            s[t] = x[b, t]
            lend.sync()
            other = t ^ 4
            if other >= 0 and s[t] > s[other]:
                v = s[t]
                s[t] = s[other]
                s[other] = v
            lend.sync()
            x[b, t] = s[t]
