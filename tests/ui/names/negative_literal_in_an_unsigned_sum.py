import numpy as np

import lend
from lend import Mut, u32
from lend.dims import N


@lend.kernel
def compute(y: Mut[u32, N]):
    for i in lend.grid(N):
        y[i] += -1


compute(np.zeros(4, np.uint32))
