import numpy as np

import lend
from lend import Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], n: i64):
    for i in lend.grid(N):
        pair = lend.local(f64, 2)
        pair[i % n] = x[i]


compute(np.ones(4), 3)
