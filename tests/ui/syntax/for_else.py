import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def double(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        k = 0
        for k in range(3):
            if x[i] < k:
                break
        else:
            k = 0
        y[i] = x[i] + k


double(np.ones(4), np.zeros(4))
