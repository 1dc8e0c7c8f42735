import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid((1, N - 1)):
        y[i] = 0.5 * (x[i - 1] + x[i + 1])
