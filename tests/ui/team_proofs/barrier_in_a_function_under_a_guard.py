import lend
from lend import Mut, f64
from lend.dims import N


@lend.function
def wait():
    lend.sync()


@lend.kernel
def use(x: Mut[f64, N]):
    for b in lend.blocks(lend.cdiv(N, 8)):
        for t in lend.threads(8):
            if 8 * b + t < N:
                wait()
