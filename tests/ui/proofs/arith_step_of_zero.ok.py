import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N], k: i64):
    assert k == 3
    for i in lend.grid((0, N, k - 2)):
        y[i] = 1.0
