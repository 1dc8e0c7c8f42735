from typing import Literal

import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def clear(points: Mut[f64, N, Literal[3]]):
    for i, k in lend.grid(N, 3):
        points[i, k] = 0.0


clear(np.zeros((4, 2)))
