import lend
from lend import Out, f64
from lend.dims import N


@lend.kernel
def compute(y: Out[f64, N]):
    for i in lend.grid(N // 2):
        y[i] = 1.0
    for i in lend.grid((N // 2 + 1, N)):
        y[i] = 2.0
