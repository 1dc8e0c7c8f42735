import lend
from lend import Mut, f64
from lend.dims import M, N


@lend.kernel
def compute(u: Mut[f64, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        if (i + j) % 2 >= 0:
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
