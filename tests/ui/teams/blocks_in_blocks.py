from typing import Literal

import lend
from lend import Out, f32
from lend.dims import M, N


@lend.kernel
def fill(x: Out[f32, N, M, Literal[8]]):
    for b in lend.blocks(N):
        for c in lend.blocks(M):
            for t in lend.threads(8):
                x[b, c, t] = 1.0
