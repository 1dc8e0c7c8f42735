import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(n: N, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 1.0


compute(4, np.zeros(4))
