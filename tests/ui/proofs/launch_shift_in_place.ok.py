import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N], k: i64):
    for i in lend.grid((0, N // 2)):
        x[i] = x[i + k]


compute(np.zeros(8), 4)
