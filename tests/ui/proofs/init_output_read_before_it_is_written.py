import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]
