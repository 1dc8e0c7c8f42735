import numpy as np

import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.struct
class Particle:
    x: f64
    v: f64


@lend.kernel
def compute(b: Mut[Particle, N], shift: i64):
    for i in lend.grid(N):
        b[i + shift].x = 1.0


compute(np.zeros(4, Particle.dtype), 1)
