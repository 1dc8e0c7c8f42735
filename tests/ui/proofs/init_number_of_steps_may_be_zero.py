import lend
from lend import Out, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Out[f64, N], steps: i64):
    assert steps >= 0
    t = lend.empty(f64, N)
    for s in range(steps):
        for i in lend.grid(N):
            t[i] = x[i] * s
    for i in lend.grid(N):
        y[i] = t[i]
