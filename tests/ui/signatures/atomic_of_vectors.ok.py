from typing import Literal

import numpy as np

import lend
from lend import Atomic, Mut, Vec, f32
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.kernel
def first(p: Mut[Three, N]) -> f32:
    return p[0][0]


first(np.ones((4, 3), np.float32))
