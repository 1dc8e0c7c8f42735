import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


def make(scale):
    @lend.kernel
    def double(x: Ref[f64, N], y: Mut[f64, N]):
        pass
        for i in lend.grid(N):
            y[i] = scale * x[i]

    return double


make(2.0)(np.ones(4), np.zeros(4))
