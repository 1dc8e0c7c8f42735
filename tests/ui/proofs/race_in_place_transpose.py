import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N, N]):
    for i in lend.grid(N):
        for j in range(N):
            t = x[i, j]
            x[i, j] = x[j, i]
            x[j, i] = t
