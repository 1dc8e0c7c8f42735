import numpy as np

import lend
from lend import Mut, f64, i32
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], a: i32 = 5):
    for i in lend.grid(N):
        y[i] = 1.0


compute(np.zeros(4))
