import numpy as np

import lend
from lend import Index, Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def first(rows: Ref[Index[M], N, 2], values: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = values[rows[i, 0]]


first(np.zeros((2, 2), np.int64), np.ones(3), np.zeros(2))
