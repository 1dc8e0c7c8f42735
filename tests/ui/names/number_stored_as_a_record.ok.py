import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N


@lend.struct
class Particle:
    x: f64
    v: f64


@lend.kernel
def compute(b: Mut[Particle, N]):
    for i in lend.grid(N):
        b[i].x = 0.0


compute(np.zeros(4, Particle.dtype))
