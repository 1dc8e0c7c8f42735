from typing import Literal

import numpy as np

import lend
from lend import Mut, f64, i64


@lend.kernel
def compute(y: Mut[f64, Literal[8]], n: i64):
    for i in lend.grid(n):
        y[i % 8] = 1.0


compute(np.zeros(8), 8)
