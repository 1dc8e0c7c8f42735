import numpy as np

import lend
from lend import Ref, complex128, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    s = complex128(0.0)
    for i in lend.grid(N):
        s = min(s, x[i])
    return s


compute(np.ones(4))
