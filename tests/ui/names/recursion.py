import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.function
def halve(v):
    return v if v < 1.0 else halve(v / 2.0)


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = halve(x[i])


compute(np.ones(4), np.zeros(4))
