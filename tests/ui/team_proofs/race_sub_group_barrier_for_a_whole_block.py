import lend
from lend import Out, Ref, f64
from lend.dims import M


@lend.kernel
def reverse(x: Ref[f64, M, 64], y: Out[f64, M, 64]):
    for b in lend.blocks(M):
        s = lend.shared(f64, 64)
        for t in lend.threads(64):
            group = lend.subgroup(32)
            s[t] = x[b, t]
            group.sync()
            y[b, t] = s[63 - t]
