import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for y[0] in lend.grid(N):
        y[0] = 1.0


compute(np.ones(4), np.zeros(4))
