from typing import Literal

import lend
from lend import Ref, f32
from lend.dims import N


@lend.kernel
def sums(x: Ref[f32, N, Literal[8]]) -> f32:
    total = f32(0)
    for b in lend.blocks(N):
        s = f32(0)
        for t in lend.threads(8):
            s += x[b, t]
        total += s
    return total
