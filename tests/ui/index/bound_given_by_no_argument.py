import numpy as np

import lend
from lend import Index, Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def widen(idx: Ref[Index[N], M], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = f64(idx[i])


widen(np.zeros(3, np.int64), np.zeros(3))
