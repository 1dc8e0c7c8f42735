import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def first_column(x: Ref[f64, N, M], y: Mut[f64, N]):
    column = x[:, 0]
    for i in lend.grid(N):
        y[i] = column[i]


first_column(np.ones((4, 2)), np.zeros(4))
