import lend
from lend import Mut, Ref, f64, i32
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N], at: Ref[i32, N], y: Mut[f64, M]):
    for i in lend.grid(N):
        y[at[i]] += x[i]
