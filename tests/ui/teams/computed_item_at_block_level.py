from typing import Literal

import numpy as np

import lend
from lend import Out, Vec, f32
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.kernel
def items(out: Out[f32, N], v: Three):
    assert N <= 3
    for b in lend.blocks(N):
        item = v[b]
        for t in lend.threads(1):
            out[b] = item


items(np.empty(3, np.float32), (1, 2, 3))
