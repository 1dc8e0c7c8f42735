import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N], n: i64, k: i64):
    for i in lend.grid(n):
        x[i] = 1.0
        x[i + k] = 2.0


compute(np.zeros(8), 4, 4)
