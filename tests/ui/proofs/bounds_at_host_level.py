import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    assert N >= 1
    x[N] = 0.0
