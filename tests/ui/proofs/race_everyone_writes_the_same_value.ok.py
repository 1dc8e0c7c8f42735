import lend
from lend import Mut, Ref, f64, i32
from lend.dims import N


@lend.kernel
def compute(x: Ref[f64, N], found: Mut[i32, N]):
    for i in lend.grid(N):
        if x[i] < 0:
            found[i] = 1
