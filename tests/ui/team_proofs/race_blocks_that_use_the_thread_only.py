import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def add(x: Mut[f64, N]):
    for b in lend.blocks(N // 8):
        for t in lend.threads(8):
            x[t] += 1.0
