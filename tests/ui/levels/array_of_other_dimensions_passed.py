import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def double(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    t = lend.zeros(f64, N, 1)
    double(x, t)
    y[0] = 1.0


compute(np.ones(4), np.zeros(4))
