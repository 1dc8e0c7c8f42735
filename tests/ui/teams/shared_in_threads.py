from typing import Literal

import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[8]]):
    for b in lend.blocks(N):
        for t in lend.threads(8):
            s = lend.shared(f32, 1)
            s[0] = 1.0
            x[b, t] = s[0]
