import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N, N], y: Mut[f64, N, N]):
    for i, j in lend.grid(N, N):
        if i + 1 < N:
            y[i, j] = x[i + 1, j + 1]
