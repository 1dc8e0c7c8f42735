import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def differences(x: Mut[f64, N]):
    assert N >= 3
    for i in lend.grid((1, N - 1)):
        x[i] = 0.5


@lend.kernel
def compute():
    t = lend.zeros(f64, 3)
    differences(t)


compute()
