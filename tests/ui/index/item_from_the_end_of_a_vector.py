from typing import Literal

import numpy as np

import lend
from lend import Out, Ref, Vec, f32
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.kernel
def read(p: Ref[Three, N], out: Out[f32, N]):
    for i in lend.grid(N):
        out[i] = p[i][-1]


read(np.ones((4, 3), np.float32), np.empty(4, np.float32))
