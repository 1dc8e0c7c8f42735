import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    part = x[0 : N - 1]
    for i in lend.grid(N - 1):
        y[i] = part[i]


compute(np.ones(4), np.zeros(4))
