import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def total(x: Ref[f64, N]):
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    yield s


total(np.ones(4))
