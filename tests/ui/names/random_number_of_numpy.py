import numpy as np

import lend
from lend import Out, f64
from lend.dims import N


@lend.kernel
def draw(x: Out[f64, N]):
    for i in lend.grid(N):
        x[i] = np.random.rand()


draw(np.empty(4))
