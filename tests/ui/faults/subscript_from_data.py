import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[at[i]]


compute(np.ones(4), np.array([0, 1, 4, 2]), np.zeros(4))
