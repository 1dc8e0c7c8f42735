import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    assert N >= 60
    for i, j in lend.grid(6, 6):
        x[6 * i + j] = 1.0
