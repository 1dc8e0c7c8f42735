import lend
from lend import Mut, Ref, f64
from lend.dims import M


@lend.kernel
def windows(x: Ref[f64, M], y: Mut[f64, M]):
    for b in lend.blocks(M // 8):
        for t in lend.threads(8):
            y[8 * b + t] = x[7 * b + t]
