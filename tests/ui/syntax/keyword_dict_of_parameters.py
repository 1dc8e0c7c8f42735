import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def double(x: Mut[f64, N], **options: f64):
    for i in lend.grid(N):
        x[i] *= 2.0


double(np.ones(4), factor=2.0)
