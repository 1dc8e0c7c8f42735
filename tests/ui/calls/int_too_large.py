import numpy as np

import lend
from lend import Mut, u8
from lend.dims import N


@lend.kernel
def fill(value: u8, y: Mut[u8, N]):
    for i in lend.grid(N):
        y[i] = value


fill(256, np.zeros(4, np.uint8))
