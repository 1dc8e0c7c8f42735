from typing import Literal

import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N, Literal[8]]):
    for b in range(N):
        for t in lend.threads(8):
            x[b, t] = 1.0
