import numpy as np

import lend
from lend import Mut, Ref, f32, f64
from lend.dims import N


@lend.kernel
def compute(a: f64, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] = f32(a * x[i])


compute(2.0, np.ones(4, np.float32), np.zeros(4, np.float32))
