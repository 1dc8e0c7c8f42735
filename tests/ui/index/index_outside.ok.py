import numpy as np

import lend
from lend import Index, Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def gather(x: Ref[f64, N], idx: Ref[Index[N], M], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = x[idx[i]]


gather(np.zeros(3), np.array([0, 2, 1]), np.zeros(3))
