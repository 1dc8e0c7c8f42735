import numpy as np

import lend
from lend import Mut, Ref, f32, i32
from lend.dims import N


@lend.kernel
def compute(n: i32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] = np.clip(n, 0, x[i])


compute(2, np.ones(4, np.float32), np.zeros(4, np.float32))
