from typing import Literal

import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[8], Literal[4]]):
    for b in lend.blocks(N):
        for t in lend.threads(8):
            for u in lend.threads(4):
                x[b, t, u] = 1.0
