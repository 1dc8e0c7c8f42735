import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    q = N // 4
    for i, j in lend.grid(4, q):
        x[4 * j + i] = 1.0
