import numpy as np

import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(g: Atomic[i32, N], h: Atomic[i32, N]):
    for i in lend.grid(N):
        g[i] += 1
        h[i] += 1


a, b = np.zeros(4, np.int32), np.zeros(4, np.int32)
count(a, b)
