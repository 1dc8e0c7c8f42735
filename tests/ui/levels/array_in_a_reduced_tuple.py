import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    best = (x[0], x)
    for i in lend.grid(N):
        best = min(best, (x[i], x))
    return best[0]


compute(np.ones(4))
