import numpy as np

import lend
from lend import Index, Mut, Ref, f64
from lend.dims import N


@lend.kernel
def reverse(p: Mut[Index[N], N], x: Ref[f64, N]):
    for i in lend.grid(N):
        p[i] = N - 1 - i


reverse(np.zeros(3, np.int64), np.zeros(3))
