from typing import Literal

import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], w: Ref[f64, Literal[5]], y: Mut[f64, N]):
    for i in lend.grid(N - 4):
        total = 0.0
        for k in range(5):
            total += w[k] * x[i + k]
        y[i] = total
