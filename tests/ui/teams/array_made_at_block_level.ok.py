from typing import Literal

import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[8]]):
    for b in lend.blocks(N):
        p = lend.shared(f32, 8)
        for t in lend.threads(8):
            p[t] = 1.0
            x[b, t] = p[t]
