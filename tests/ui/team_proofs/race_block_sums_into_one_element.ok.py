import lend
from lend import Mut, Ref, f64
from lend.dims import N


@lend.kernel
def total(x: Ref[f64, N, 8], out: Mut[f64, N]):
    assert N > 0
    for b in lend.blocks(N):
        s = 0.0
        for t in lend.threads(8):
            s += x[b, t]
        for _t in lend.threads(1):
            out[b] += s
