import numpy as np

import lend
from lend import Mut, Ref, f32, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    a = x
    b = lend.zeros(f64, N)
    for k in range(2):
        a, b = b, a
    for i in lend.grid(N):
        y[i] = a[i]


compute(np.ones(4), np.zeros(4))
