import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[lend.Unique[N], N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[at[i]] = x[i]
