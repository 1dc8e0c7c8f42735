import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


class Doubler:
    @staticmethod
    @lend.kernel
    def double(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= 2.0


Doubler.double(np.ones(4))
