import numpy as np

import lend
from lend import Mut, i32
from lend.dims import N


@lend.kernel
def compute(y: Mut[i32, N]):
    for i in lend.grid(N):
        y[i] = 0.5


compute(np.zeros(4, np.int32))
