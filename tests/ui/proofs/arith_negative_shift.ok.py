import lend
from lend import Out, i64
from lend.dims import N


@lend.kernel
def compute(y: Out[i64, N]):
    for i in lend.grid(N):
        y[i] = 1 << (N - i - 1)
