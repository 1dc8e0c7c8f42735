import numpy as np

import lend
from lend import Mut, Ref, bool_, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[bool_, N]):
    for i in lend.grid(N):
        y[i] = x[i]


compute(np.ones(4), np.zeros(4, np.bool_))
