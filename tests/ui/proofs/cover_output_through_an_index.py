import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[lend.Index[N], N], y: Out[f64, N]):
    for i in range(N):
        y[at[i]] = x[i]
