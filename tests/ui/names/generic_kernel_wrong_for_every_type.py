import numpy as np

import lend
from lend import Mut, Ref, T
from lend.dims import N


@lend.kernel
def store(x: Ref[T, N], y: Mut[T, N]):
    for i in lend.grid(N):
        y[i] = x[0.5]


store(np.ones(4), np.zeros(4))
