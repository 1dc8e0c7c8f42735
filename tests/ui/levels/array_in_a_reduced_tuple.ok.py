import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    best = (x[0], 0)
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best[0]


compute(np.ones(4))
