from typing import Literal

import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[48]]):
    for b in lend.blocks(N):
        for t in lend.threads(48):
            sg = lend.subgroup(32)
            x[b, t] = sg.reduce_add(f32(1))
