import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N, N]):
    for i, j in lend.grid(N, N):
        x[i, j] = 1.0


compute(np.ones((2, 2)))
