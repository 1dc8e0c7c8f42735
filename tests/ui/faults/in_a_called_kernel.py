import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def move(x: Ref[f64, N], y: Mut[f64, N], distance: i64):
    for i in lend.grid(N):
        y[i] = x[i + distance]


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N], shift: i64):
    move(x, y, shift)


compute(np.ones(4), np.zeros(4), 1)
