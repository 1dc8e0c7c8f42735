import numpy as np

import lend
from lend import Mut, f64, u8
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], a: u8 = 30):
    for i in lend.grid(N):
        y[i] = 1.0


compute(np.zeros(4))
