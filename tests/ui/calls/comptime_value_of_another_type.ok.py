import numpy as np

import lend
from lend import Mut, comptime, f64
from lend.dims import N


@lend.kernel
def repeat(x: Mut[f64, N], times: comptime[int]):
    for i in lend.grid(N):
        for _ in lend.static_range(times):
            x[i] *= 2.0


repeat(np.ones(4), 2)
