import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def dot(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    s = 0.0
    for k in lend.grid(N):
        s += x[k] * y[k]
    return s


dot(np.ones(4), np.ones(4))
