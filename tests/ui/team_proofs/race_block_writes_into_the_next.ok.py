import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def spread(x: Mut[f64, N]):
    for b in lend.blocks(N // 8):
        for t in lend.threads(8):
            x[8 * b + t] = 1.0
            lend.sync()
            if t < 7 and 8 * b + t + 1 < N:
                x[8 * b + t + 1] = 2.0
