import numpy as np

import lend
from lend import Mut, Ref, f32, i32
from lend.dims import N


@lend.kernel
def compute(a: Ref[i32, N], b: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] = a[i] if a[i] > 0 else b[i]


compute(np.ones(4, np.int32), np.ones(4, np.float32), np.zeros(4, np.float32))
