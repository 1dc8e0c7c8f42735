import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def total(*parts: Ref[f64, N]):
    s = 0.0
    for i in lend.grid(N):
        for part in parts:
            s += part[i]
    return s


total((np.ones(4), np.ones(4)))
