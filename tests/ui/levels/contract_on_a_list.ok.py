import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N

LIMITS = [1024]
LIMIT = 1024


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    assert N < LIMIT
    for i in lend.grid(N):
        y[i] = x[i]


compute(np.ones(4), np.zeros(4))
