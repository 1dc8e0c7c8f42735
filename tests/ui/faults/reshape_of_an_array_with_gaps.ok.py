import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    pairs = x.reshape(2, 2)
    for i in lend.grid(2):
        pairs[i, 0] = 0.0


compute(np.ones((4, 1))[:, 0])
