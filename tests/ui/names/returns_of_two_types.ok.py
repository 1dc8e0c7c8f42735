import numpy as np

import lend
from lend import Mut, Ref, f32, i32
from lend.dims import N


@lend.function
def clamp(v):
    if v > 1.0:
        return v
    return 1.0


@lend.kernel
def compute(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] = clamp(x[i])


compute(np.ones(4, np.float32), np.zeros(4, np.float32))
