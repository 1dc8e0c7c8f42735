import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N]):
    for b in lend.grid(N):
        x[b] = 1.0
