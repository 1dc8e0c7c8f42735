import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def total(parts: tuple[Ref[f64, N], Ref[f64, N]]):
    s = 0.0
    for i in lend.grid(N):
        for part in parts:
            s += part[i]
    return s


total((np.ones(4),))
