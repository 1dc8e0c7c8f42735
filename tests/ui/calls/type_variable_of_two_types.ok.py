import numpy as np

import lend
from lend import Mut, T
from lend.dims import N


@lend.kernel
def fill(value: T, y: Mut[T, N]):
    for i in lend.grid(N):
        y[i] = value


fill(np.float32(2.0), np.zeros(4, np.float32))
