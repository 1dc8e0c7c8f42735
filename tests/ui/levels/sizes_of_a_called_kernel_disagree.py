import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def double(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]


@lend.kernel
def compute():
    s = lend.zeros(f64, 3)
    t = lend.zeros(f64, 4)
    double(s, t)


compute()
