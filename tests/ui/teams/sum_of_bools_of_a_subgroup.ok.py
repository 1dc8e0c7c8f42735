from typing import Literal

import lend
from lend import Out, bool_
from lend.dims import N


@lend.kernel
def fill(x: Out[bool_, N, Literal[32]]):
    for b in lend.blocks(N):
        for t in lend.threads(32):
            sg = lend.subgroup(32)
            x[b, t] = sg.reduce_or(t > 3)
