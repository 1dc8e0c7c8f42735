import lend
from lend import Mut, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Mut[f64, N, M]):
    for i in lend.grid(N):
        for j in range(M - 1, -1, -1):
            x[i, j] = x[i, j - 1]
