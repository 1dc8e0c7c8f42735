import lend
from lend import Mut, Ref, f64
from lend.dims import K, N


@lend.kernel
def add(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]


@lend.kernel
def compute(x: Ref[f64, K], y: Mut[f64, K]):
    assert K >= 8
    add(x[0:4], y[3:7])
