import numpy as np

import lend
from lend import Index, Mut, f64
from lend.dims import N


@lend.kernel
def put(y: Mut[f64, N], k: Index[N]):
    assert 0 <= k < N
    y[k] = 1.0


put(np.zeros(3), 2)
