import lend
from lend import Out, f64
from lend.dims import N


@lend.kernel
def compute(y: Out[f64, N]):
    t = lend.zeros(f64, N)
    for i in lend.grid(N):
        y[i] = t[i]
