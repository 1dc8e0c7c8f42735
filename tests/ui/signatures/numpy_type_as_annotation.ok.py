import numpy as np

import lend
from lend import Mut, f32, f64
from lend.dims import N


@lend.kernel
def compute(a: f32, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 1.0


compute(2.0, np.zeros(4))
