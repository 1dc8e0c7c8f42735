import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def copy(x: Ref[f64, N], y: Out[f64, N]):
    for b in lend.blocks(N // 8):
        for t in lend.threads(8):
            if 8 * b + t < N:
                y[8 * b + t] = x[8 * b + t]
