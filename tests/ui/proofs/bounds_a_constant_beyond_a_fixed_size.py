from typing import Literal

import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(p: Ref[f64, N, Literal[3]], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = p[i, 0] + p[i, 3]
