import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Mut[f64, N], at: i64):
    for i in lend.grid(N):
        row = x[i, :]
        y[i] = row[at]


compute(np.ones((4, 2)), np.zeros(4), 2)
