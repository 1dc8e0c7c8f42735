import numpy as np

import lend
from lend import Mut, i32
from lend.dims import N


@lend.kernel
def fill(value: i32, y: Mut[i32, N]):
    for i in lend.grid(N):
        y[i] = value


fill(2.5, np.zeros(4, np.int32))
