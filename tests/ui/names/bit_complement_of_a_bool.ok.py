import numpy as np

import lend
from lend import Mut, Ref, bool_
from lend.dims import N


@lend.kernel
def compute(x: Ref[bool_, N], y: Mut[bool_, N]):
    for i in lend.grid(N):
        y[i] = not x[i]


compute(np.ones(4, np.bool_), np.zeros(4, np.bool_))
