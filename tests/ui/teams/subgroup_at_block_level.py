from typing import Literal

import lend
from lend import Out, f32, i32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[32]]):
    for b in lend.blocks(N):
        sg = lend.subgroup(32)
        for t in lend.threads(32):
            x[b, t] = 1.0
