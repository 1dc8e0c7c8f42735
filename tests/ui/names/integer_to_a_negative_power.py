import numpy as np

import lend
from lend import Mut, Ref, f64, i32
from lend.dims import N


@lend.kernel
def compute(x: Ref[i32, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i] ** -2


compute(np.ones(4, np.int32), np.zeros(4))
