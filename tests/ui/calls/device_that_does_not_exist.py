import numpy as np

import lend
from lend import Mut, Ref, f32
from lend.dims import N


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


x = np.ones(8, np.float32)
y = np.zeros(8, np.float32)
lend.config.device = "metal"
saxpy(2.0, x, y)
