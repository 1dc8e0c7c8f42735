import numpy as np

import lend
from lend import Mut, Ref, f32, f64, i32
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    s = i32(0)
    for k in range(4):
        s = s + i32(1)
    y[0] = s


compute(np.ones(4), np.zeros(4))
