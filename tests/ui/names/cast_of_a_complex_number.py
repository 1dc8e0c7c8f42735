import numpy as np

import lend
from lend import Mut, Ref, complex128, f64
from lend.dims import N


@lend.kernel
def compute(z: Ref[complex128, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = f64(z[i])


compute(np.ones(4, np.complex128), np.zeros(4))
