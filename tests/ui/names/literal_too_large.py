import numpy as np

import lend
from lend import Mut, u8
from lend.dims import N


@lend.kernel
def compute(y: Mut[u8, N]):
    for i in lend.grid(N):
        y[i] = 300


compute(np.zeros(4, np.uint8))
