import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    if x[0] > 0.0:
        return x[0]
    return 1.0


compute(np.ones(4), np.zeros(4))
