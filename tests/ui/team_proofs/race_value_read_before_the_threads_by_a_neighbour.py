import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def chain(x: Mut[f64, N]):
    for b in lend.blocks(N - 1):
        first = x[b + 1]
        for t in lend.threads(1):
            x[b + t] = first
