from typing import Literal

import lend
from lend import Mut, f64


@lend.kernel
def compute(x: Mut[f64, Literal[4], Literal[6]]):
    for i, j in lend.grid(4, 6):
        x[i, j] = 0.0
