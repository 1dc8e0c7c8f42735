import lend
from lend import Mut, Ref, f64, i64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        k = i64(0)
        for j in range(M):
            if x[i, j] > 0:
                if k < N:
                    y[k] = x[i, j]
                k += 1
