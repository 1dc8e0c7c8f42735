import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def differences(x: Ref[f64, N], y: Mut[f64, N]):
    assert N >= 3
    for i in lend.grid((1, N - 1)):
        y[i] = 0.5


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N], n: i64):
    differences(x, y[0:n])


compute(np.ones(4), np.zeros(4), 3)
