from typing import Literal

import numpy as np

import lend
from lend import Out, Ref, Vec, f32, f64
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.kernel
def write(p: Ref[Three, N], out: Out[Three, N]):
    for i in lend.grid(N):
        out[i] = p[i] * Vec[f32, 3](2)


write(np.ones((4, 3), np.float32), np.empty((4, 3), np.float32))
