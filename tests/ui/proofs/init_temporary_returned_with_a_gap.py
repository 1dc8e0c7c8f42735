import lend
from lend import Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N]):
    t = lend.empty(f64, N)
    for i in lend.grid((1, N)):
        t[i] = x[i] - x[i - 1]
    return t
