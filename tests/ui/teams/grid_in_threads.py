from typing import Literal

import lend
from lend import Out, f32
from lend.dims import M, N


@lend.kernel
def fill(x: Out[f32, N, Literal[8], M]):
    for b in lend.blocks(N):
        for t in lend.threads(8):
            for j in lend.grid(M):
                x[b, t, j] = 1.0
