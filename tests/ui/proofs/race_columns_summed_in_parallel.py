import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], total: Mut[f64, M]):
    for i, j in lend.grid(N, M):
        total[j] += x[i, j]
