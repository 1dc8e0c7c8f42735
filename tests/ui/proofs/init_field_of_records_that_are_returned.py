import numpy as np

import lend
from lend import Ref, f64, i32
from lend.dims import N


@lend.struct
class Cell:
    value: f64
    colour: i32


@lend.kernel
def cells(x: Ref[f64, N]):
    c = lend.empty(Cell, N)
    for i in lend.grid(N):
        c[i].value = x[i]
        if x[i] > 0.0:
            c[i].colour = i32(1)
    return c


cells(np.ones(3))
