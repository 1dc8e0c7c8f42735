import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.function
def ahead(x, i):
    return x[i]


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = ahead(x, i)
