import lend
from lend import Mut, f64
from lend.dims import M


@lend.kernel
def lanes(x: Mut[f64, M, 32]):
    for b in lend.blocks(M):
        for t in lend.threads(32):
            group = lend.subgroup(16)
            if t < 16:
                x[b, t] = group.reduce_add(x[b, t])
