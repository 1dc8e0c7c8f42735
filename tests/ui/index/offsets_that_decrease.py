import numpy as np

import lend
from lend import Mut, Offsets, Ref, f64
from lend.dims import M, N


class Rows1(lend.Dim):
    equals = N + 1


@lend.kernel
def row_sums(rows: Ref[Offsets[M], Rows1], values: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 0.0
        for k in range(rows[i], rows[i + 1]):
            y[i] += values[k]


row_sums(np.array([0, 3, 2]), np.ones(3), np.zeros(2))
