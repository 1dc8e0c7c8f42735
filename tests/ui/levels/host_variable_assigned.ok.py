import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    last = 0.0
    for i in lend.grid(N):
        last += x[i]
    return last


compute(np.ones(4))
