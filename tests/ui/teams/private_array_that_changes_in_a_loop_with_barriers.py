import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def steps(y: Mut[f64, N, 8]):
    for b in lend.blocks(N):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            old = lend.local(f64, 1)
            new = lend.local(f64, 1)
            old[0] = y[b, t]
            new[0] = 0.0
            for _k in range(3):
                s[t] = old[0]
                lend.sync()
                new[0] += s[7 - t]
                lend.sync()
                old = new
            y[b, t] = old[0]


steps(np.ones((2, 8)))
