import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    s = 1.0
    for i in lend.grid(N):
        s += x[i]
        s *= 2.0
    return s


compute(np.ones(4))
