from typing import Literal

import lend
from lend import Out, comptime, f32, i32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[8]], n: comptime[int]):
    for b in lend.blocks(N):
        s = lend.shared(f32, n)
        for t in lend.threads(8):
            x[b, t] = 1.0
