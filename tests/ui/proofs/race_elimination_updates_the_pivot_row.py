import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(a: Mut[f64, N, N]):
    for k in range(N):
        for i in lend.grid((k, N)):
            for j in range(k + 1, N):
                a[i, j] -= a[i, k] * a[k, j]
