from typing import Literal

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], count: Mut[i64, N]):
    for i in lend.grid(N):
        if x[i] > 0.5:
            count[i] += 1
