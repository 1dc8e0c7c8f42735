import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for a, b, c, d, e, i in lend.grid(1, 1, 1, 1, 1, N):
        y[i] = x[i]


compute(np.ones(4), np.zeros(4))
