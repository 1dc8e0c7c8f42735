import numpy as np

import lend
from lend import Mut, Ref, bool_, i64, u64
from lend.dims import N


@lend.kernel
def compute(a: Ref[u64, N], b: Ref[i64, N], y: Mut[bool_, N]):
    for i in lend.grid(N):
        y[i] = i64(a[i]) < b[i]


compute(np.ones(4, np.uint64), np.ones(4, np.int64), np.zeros(4, np.bool_))
