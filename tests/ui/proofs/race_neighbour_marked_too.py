import lend
from lend import Mut, Ref, f64, i32
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], mark: Mut[i32, N]):
    for i in lend.grid(N - 1):
        if x[i] > x[i + 1]:
            mark[i] = 1
            mark[i + 1] = 1
