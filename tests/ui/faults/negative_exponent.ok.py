import numpy as np

import lend
from lend import Mut, Ref, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[i64, N], y: Mut[i64, N]):
    for i in lend.grid(N):
        y[i] = y[i] ** x[i]


compute(np.array([1, 1]), np.zeros(2, np.int64))
