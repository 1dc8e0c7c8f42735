import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], stride: i64):
    for i in lend.grid(4):
        y[i * stride] = 1.0


compute(np.zeros(8), 0)
