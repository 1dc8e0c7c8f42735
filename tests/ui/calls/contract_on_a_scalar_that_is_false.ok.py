import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def scale(a: f64, x: Mut[f64, N]):
    assert 0 <= a <= N
    for i in lend.grid(N):
        x[i] *= a


scale(1.0, np.ones(4))
