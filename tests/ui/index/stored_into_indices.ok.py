import numpy as np

import lend
from lend import Index, Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def reset(p: Mut[i64, M], x: Ref[f64, N]):
    for i in lend.grid(M):
        p[i] = 0


reset(np.zeros(3, np.int64), np.zeros(3))
