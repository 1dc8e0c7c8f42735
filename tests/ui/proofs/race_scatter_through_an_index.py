import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[at[i]] = x[i]
