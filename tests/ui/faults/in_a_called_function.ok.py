import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.function
def neighbour(values, at, distance):
    return values[at + distance]


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N], shift: i64):
    for i in lend.grid(N):
        y[i] = neighbour(x, i, shift)


compute(np.ones(4), np.zeros(4), 0)
