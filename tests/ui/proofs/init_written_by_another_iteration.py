import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]
        for j in range(1):
            y[i] = y[i] + y[N - 1 - i]
