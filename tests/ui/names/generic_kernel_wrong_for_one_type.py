import numpy as np

import lend
from lend import Mut, T
from lend.dims import N


@lend.kernel
def halve(x: Mut[T, N]):
    for i in lend.grid(N):
        x[i] = x[i] / 2


halve(np.ones(4, np.int32))
