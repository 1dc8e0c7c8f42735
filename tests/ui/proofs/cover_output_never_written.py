import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s
