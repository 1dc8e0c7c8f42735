import lend
from lend import Out, Ref, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[i64, N], y: Out[i64, N]):
    for i in lend.grid(N):
        d = i - i + 1
        y[i] = x[i] // d
