import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N]):
    for i in lend.grid(N):
        x[i] = 1.0
        pass
