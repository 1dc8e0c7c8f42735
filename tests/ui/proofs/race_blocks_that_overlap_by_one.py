import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    for b in lend.grid(N // 32):
        for k in range(32):
            if b * 32 + k + 1 < N:
                x[b * 32 + k] = 1.0
                x[b * 32 + k + 1] = 2.0
