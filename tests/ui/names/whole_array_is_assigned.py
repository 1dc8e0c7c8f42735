import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def clear(y: Mut[f64, N]):
    y[:] = 0.0


clear(np.ones(4))
