from typing import Literal

import lend
from lend import Mut, Ref, f64


@lend.kernel
def compute(x: Ref[f64, Literal[100]], y: Mut[f64, Literal[100]]):
    for b, t in lend.grid(4, 32):
        i = b * 32 + t
        if i <= 100:
            y[i] = x[i]
