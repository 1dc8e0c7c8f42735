import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    t = lend.zeros(f64, N + 1)
    for i in lend.grid(N):
        t[i + 1] = x[i]
    for i in lend.grid(N):
        y[i] = t[i]
