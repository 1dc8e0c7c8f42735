import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N]):
    for i, j in lend.grid(N, N):
        if i + j < N:
            y[i + j] = 1.0
