from typing import Literal

import lend
from lend import Out, i32
from lend.dims import N


@lend.kernel
def fill(x: Out[i32, N, Literal[32]]):
    for b in lend.blocks(N):
        for t in lend.threads(32):
            sg = lend.subgroup(32)
            x[b, t] = sg.lane
