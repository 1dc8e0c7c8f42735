import lend
from lend import Mut, f64
from lend.dims import K, N


@lend.kernel
def compute(u: Mut[f64, K, N]):
    for t in range(K):
        for i in lend.grid(N):
            u[t + 1, i] = u[t, i]
