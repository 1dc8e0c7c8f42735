import numpy as np

import lend
from lend import Mut, comptime, f64
from lend.dims import N


@lend.kernel
def power(x: Mut[f64, N], n: comptime[int]):
    for i in lend.grid(N):
        x[i] = (i + 1) ** n


power(np.ones(4), -1)
