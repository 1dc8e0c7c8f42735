import math

import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = math.sqrt(f64(x[i]))


compute(np.ones(4, np.int64), np.zeros(4))
