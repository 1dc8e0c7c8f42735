import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        t = lend.local(f64, 4)
        for k in range(0, 4):
            t[k] = x[i]
        y[i] = t[0] + t[3]
