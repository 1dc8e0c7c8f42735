import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def reverse(x: Mut[f64, N]):
    for b in lend.blocks(lend.cdiv(N, 8)):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            i = 8 * b + t
            if i < N:
                s[t] = x[i]
                lend.sync()
                x[i] = s[t]
