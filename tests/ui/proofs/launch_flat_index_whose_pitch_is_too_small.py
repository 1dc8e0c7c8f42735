import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], pitch: i64, rows: i64, columns: i64):
    for i, j in lend.grid(rows, columns):
        y[i * pitch + j] = 1.0


compute(np.zeros(12), 3, 3, 4)
