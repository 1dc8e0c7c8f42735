import numpy as np

import lend
from lend import Mut, comptime, f32
from lend.dims import N


@lend.kernel(require="proved")
def fill(x: Mut[f32, N], stop: comptime[int]):
    for i in lend.grid(stop):
        if i < N or stop == 3:
            x[i] = 1.0


fill(np.zeros(8, np.float32), 2)
fill(np.zeros(8, np.float32), 3)
