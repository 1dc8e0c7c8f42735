import numpy as np

import lend
from lend import Index, Mut, Ref, Unique, f64
from lend.dims import M, N


@lend.kernel
def select(x: Ref[f64, N], p: Ref[Unique[N], M], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = x[p[i]]


@lend.kernel
def outer(x: Ref[f64, N], k: Ref[Unique[N], M], y: Mut[f64, M]):
    select(x, k, y)


outer(np.zeros(3), np.array([2, 1]), np.zeros(2))
