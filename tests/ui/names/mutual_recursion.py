import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.function
def even(n):
    return 1.0 if n == 0 else odd(n - 1)


@lend.function
def odd(n):
    return 0.0 if n == 0 else even(n - 1)


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = even(i)


compute(np.ones(4), np.zeros(4))
