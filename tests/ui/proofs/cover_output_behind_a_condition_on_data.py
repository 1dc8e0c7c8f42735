import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        if x[i] > 0:
            y[i] = x[i]
        else:
            pass
