import lend
from lend import Out, f32
from lend.dims import N


@lend.kernel
def fill(x: Out[f32, N]):
    for i in lend.grid(N):
        s = lend.local(f32, 1)
        s[0] = 1.0
        x[i] = s[0]
