import lend
from lend import Mut, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N], y: Ref[f64, N], z: Mut[f64, M, M]):
    assert M == 2 * N
    for i, j in lend.grid(N, N):
        z[i + j, 0] += x[i] * y[j]
