import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def compute(x: Mut[f64, N]):
    left = x[0 : N - 1]
    right = x[1:N]
    for i in lend.grid(N - 1):
        left[i] = left[i]
