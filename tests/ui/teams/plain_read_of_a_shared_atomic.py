from typing import Literal

import lend
from lend import Atomic, Out, i32
from lend.dims import N


@lend.kernel
def copy(x: Out[i32, N, Literal[8]]):
    for b in lend.blocks(N):
        s = lend.shared(Atomic[i32], 8, 2)
        for t in lend.threads(8):
            x[b, t] = s[t, 1]
