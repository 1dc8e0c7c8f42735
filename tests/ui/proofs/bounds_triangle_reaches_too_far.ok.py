import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N, N]):
    for i in lend.grid(N):
        for j in range(i + 1):
            x[i, i - j] = 0.0
