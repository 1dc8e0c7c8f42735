import numpy as np

import lend
from lend import Index, Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def gather(x: Ref[f64, N, M], idx: Ref[Index[N, i64], M], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = x[idx[i], 0]


gather(np.zeros((3, 2)), np.zeros(2, np.int64), np.zeros(2))
