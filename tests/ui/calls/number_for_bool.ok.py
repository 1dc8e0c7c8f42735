import numpy as np

import lend
from lend import Mut, bool_
from lend.dims import N


@lend.kernel
def fill(value: bool_, y: Mut[bool_, N]):
    for i in lend.grid(N):
        y[i] = value


fill(True, np.zeros(4, np.bool_))
