from typing import Literal

import numpy as np

import lend
from lend import Mut, Ref, f64, i64


@lend.kernel
def compute(x: Ref[f64, Literal[8]], y: Mut[f64, Literal[8]], blocks: i64):
    for b, t in lend.grid(blocks, 8):
        y[t] += x[t]


compute(np.ones(8), np.zeros(8), 2)
