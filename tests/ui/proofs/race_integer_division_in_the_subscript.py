import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i // 2] = 1.0
