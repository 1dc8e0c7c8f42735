import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def reverse(x: Ref[f64, N], y: Mut[f64, N]):
    places = lend.empty(i64, N)
    for i in lend.grid(N):
        places[i] = N - 1 - i
    p = lend.as_unique(places, N)
    for i in lend.grid(N):
        y[p[i]] = x[i]


reverse(np.arange(4.0), np.zeros(4))
