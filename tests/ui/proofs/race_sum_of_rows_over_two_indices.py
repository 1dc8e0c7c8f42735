import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Mut[f64, N, M]):
    for i, j in lend.grid(N, M):
        y[j, j] += x[i, j]
