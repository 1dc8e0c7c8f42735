import lend
from lend import Out, Ref, f64
from lend.dims import M


@lend.kernel
def last(x: Ref[f64, M, 8], out: Out[f64, M]):
    for b in lend.blocks(M):
        for t in lend.threads(8):
            if t == 0:
                out[b] = x[b, t]
