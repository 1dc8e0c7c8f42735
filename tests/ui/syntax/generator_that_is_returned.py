import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def dot(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    return sum(x[k] * y[k] for k in range(N))


dot(np.ones(4), np.ones(4))
