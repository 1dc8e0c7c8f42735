import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    err = 0.0
    for i in lend.grid(N):
        v = abs(x[i])
        if v > 0.0:
            err = max(err, v)
    return err


compute(np.ones(4))
