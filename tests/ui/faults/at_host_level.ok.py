import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N], at: i64):
    y[0] = x[at]


compute(np.ones(4), np.zeros(4), 3)
