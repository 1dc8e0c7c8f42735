import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for i, i in lend.grid(N, N):
        y[i] = x[i]


compute(np.ones(1), np.zeros(1))
