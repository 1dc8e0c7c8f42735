import numpy as np

import lend
from lend import Mut, comptime, f32, f64
from lend.dims import N


@lend.kernel
def fill(x: Mut[f64, N], type: comptime[type]):
    for i in lend.grid(N):
        x[i] = type(0.1)


fill(np.ones(4), np.float32)
