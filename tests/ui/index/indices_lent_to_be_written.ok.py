import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def reverse(p: Mut[i64, N], x: Ref[f64, N]):
    for i in lend.grid(N):
        p[i] = N - 1 - i


reverse(np.zeros(3, np.int64), np.zeros(3))
