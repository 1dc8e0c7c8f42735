import numpy as np

import lend
from lend import Index, Mut, Ref, f64, i32
from lend.dims import M, N


@lend.kernel
def areas(points: Ref[f64, N], triangles: Ref[Index[N, i32], M, 3], y: Mut[f64, M]):
    for i in lend.grid(M):
        y[i] = points[triangles[i, 0]] + points[triangles[i, 1]] + points[triangles[i, 2]]


areas(np.zeros(4), np.array([[0, 1, 2], [1, 2, 4]], np.int32), np.zeros(2))
