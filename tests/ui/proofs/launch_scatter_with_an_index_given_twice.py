import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[lend.Unique[M], N], y: Mut[f64, M]):
    for i in lend.grid(N):
        y[at[i]] = x[i]


compute(np.ones(3), np.array([2, 0, 2]), np.zeros(4))
