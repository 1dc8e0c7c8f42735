import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N], n: i64):
    t = lend.zeros(f64, n)
    for i in lend.grid(N):
        x[i] = len(t) + 0.5


compute(np.ones(4), -1)
