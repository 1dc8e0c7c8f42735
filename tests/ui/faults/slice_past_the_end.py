import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N], n: i64):
    part = x[0:n]
    for i in lend.grid(n):
        y[i] = part[i]


compute(np.ones(4), np.zeros(4), 5)
