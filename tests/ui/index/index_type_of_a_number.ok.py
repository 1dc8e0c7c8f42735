import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def put(y: Mut[f64, N], k: i64):
    assert 0 <= k < N
    y[k] = 1.0


put(np.zeros(3), 2)
