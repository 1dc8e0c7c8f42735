import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def greater(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    return max(v for v in (x[0], y[0]))


greater(np.ones(4), np.ones(4))
