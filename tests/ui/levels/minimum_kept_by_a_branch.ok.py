import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    best = 1.0
    for i in lend.grid(N):
        v = x[i]
        if v:
            best = min(best, v)
    return best


compute(np.ones(4))
