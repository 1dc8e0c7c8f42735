import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    s = 0.0
    for i in range(N):
        s += 1.0
    return s


compute(np.ones(4))
