from collections.abc import Callable

import numpy as np

import lend
from lend import Mut, comptime, f64
from lend.dims import N


@lend.kernel
def apply(x: Mut[f64, N], function: comptime[Callable]):
    for i in lend.grid(N):
        x[i] = function(x[i])


apply(np.ones(4), 2.0)
