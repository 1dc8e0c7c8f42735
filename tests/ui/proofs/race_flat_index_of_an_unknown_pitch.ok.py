import lend
from lend import Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Mut[f64, N, M], pitch: Ref[i64, N]):
    for i, j in lend.grid(N, M):
        y[i, j] = x[i, j]
