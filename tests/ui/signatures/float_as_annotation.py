import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(a: float, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 1.0


compute(2.0, np.zeros(4))
