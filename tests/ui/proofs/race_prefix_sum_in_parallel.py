import lend
from lend import Mut, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Mut[f64, N, M], y: Mut[f64, N, M]):
    for i, j in lend.grid(N, (1, M)):
        x[i, j] = x[i, j] + x[i, j - 1]
