import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    for i in lend.grid(N // 2):
        t = x[i]
        x[i] = x[N - 1 - i]
        x[N - 1 - i] = t
