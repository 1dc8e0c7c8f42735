import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], x: Ref[f64, N]):
    for i in lend.grid(N):
        y[i] = 1.0


compute(np.zeros(4), np.ones(4))
