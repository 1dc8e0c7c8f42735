import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def halve(x: Mut[f64, N]):
    for b in lend.blocks(lend.cdiv(N, 8)):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            if 8 * b + t >= N:
                continue
            s[t] = 0.5 * x[8 * b + t]
            x[8 * b + t] = s[t]
