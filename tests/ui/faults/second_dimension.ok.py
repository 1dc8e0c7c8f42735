import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Mut[f64, N, M], shift: i64):
    for i, j in lend.grid(N, M):
        y[i, j] = x[i, j + shift]


compute(np.ones((2, 3)), np.zeros((2, 3)), 0)
