import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    t = lend.empty(f64, N)
    for i in lend.grid(N):
        y[i] = x[i]
    for i in lend.grid(N):
        t[i] = x[i]
