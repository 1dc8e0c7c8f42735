import numpy as np

import lend
from lend import Mut, Ref, Unique, f64
from lend.dims import M, N


@lend.kernel
def select(x: Ref[f64, N], p: Ref[Unique[N], M], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = x[p[i]]


select(np.zeros(3), np.array([2, 0, 2]), np.zeros(3))
