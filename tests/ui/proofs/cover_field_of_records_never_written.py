import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.struct
class Particle:
    x: f64
    v: f64


@lend.kernel
def start(x: Ref[f64, N], p: Out[Particle, N]):
    for i in lend.grid(N):
        p[i].x = x[i]
        p[i].x = 0.0
