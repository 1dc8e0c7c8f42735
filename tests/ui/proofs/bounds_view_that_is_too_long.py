import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    for i in lend.grid(N):
        row = x[i : i + 2]
        row[0] = 1.0
