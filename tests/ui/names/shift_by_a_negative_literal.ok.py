import numpy as np

import lend
from lend import Mut, Ref, i32
from lend.dims import N


@lend.kernel
def compute(x: Ref[i32, N], y: Mut[i32, N]):
    for i in lend.grid(N):
        y[i] = x[i] << 1


compute(np.ones(4, np.int32), np.zeros(4, np.int32))
