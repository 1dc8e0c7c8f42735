from typing import Literal

import lend
from lend import Mut, f64


@lend.kernel
def compute(x: Mut[f64, Literal[100]]):
    for b, t in lend.grid(4, 32):
        if b * 32 + t < 128:
            x[b * 32 + t] += 1.0
