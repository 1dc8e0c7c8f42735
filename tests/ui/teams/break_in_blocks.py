from typing import Literal

import lend
from lend import Mut, f32
from lend.dims import N


@lend.kernel
def fill(x: Mut[f32, N, Literal[8]]):
    for b in lend.blocks(N):
        if b == 3:
            break
        for t in lend.threads(8):
            x[b, t] = 1.0
