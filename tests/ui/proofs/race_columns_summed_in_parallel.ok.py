import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], total: Mut[f64, M]):
    for j in lend.grid(M):
        total[j] += x[0, j]
