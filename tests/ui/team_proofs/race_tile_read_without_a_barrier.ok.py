import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def reverse(x: Ref[f64, N], y: Out[f64, N]):
    assert N % 8 == 0
    for b in lend.blocks(N // 8):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = x[8 * b + t]
            lend.sync()
            y[8 * b + t] = s[7 - t]
