import numpy as np

import lend
from lend import Mut, Ref, complex128
from lend.dims import N


@lend.kernel
def compute(z: Ref[complex128, N], y: Mut[complex128, N]):
    for i in lend.grid(N):
        y[i] = z[i] / 2.0


compute(np.ones(4, np.complex128), np.zeros(4, np.complex128))
