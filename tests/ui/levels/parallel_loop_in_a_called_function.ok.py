import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.function
def total(values):
    s = 0.0
    for k in range(len(values)):
        s += values[k]
    return s


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = total(x)


compute(np.ones(4), np.zeros(4))
