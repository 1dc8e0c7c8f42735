from typing import Literal

import numpy as np

import lend
from lend import Ref, Vec, f32
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.kernel
def summed(p: Ref[Three, N]) -> Three:
    total = Three(0)
    for i in lend.grid(N):
        total[0] += p[i][0]
    return total


assert summed(np.ones((4, 3), np.float32))[0] == 4.0
