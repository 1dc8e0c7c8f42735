import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    for i in lend.grid((0, N - 1, 2)):
        t = x[i]
        x[i] = x[i + 1]
        x[i + 1] = t
