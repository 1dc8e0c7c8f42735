import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def diffuse(x: Mut[f64, N], y: Mut[f64, N]):
    assert N >= 8
    for _ in lend.blocks(1):
        for t in lend.threads(8):
            for _step in range(N):
                y[t] = 0.5 * x[t]
                lend.sync()
                x[t] = y[7 - t]
