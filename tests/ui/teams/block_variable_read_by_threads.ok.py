from typing import Literal

import lend
from lend import Mut, f32
from lend.dims import N


@lend.kernel
def sums(x: Mut[f32, N, Literal[8]]):
    for b in lend.blocks(N):
        s = f32(0)
        for t in lend.threads(8):
            s += x[b, t]
            x[b, t] = 2.0
