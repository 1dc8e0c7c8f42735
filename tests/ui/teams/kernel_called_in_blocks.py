import lend
from lend import Mut, f32
from lend.dims import N


@lend.kernel
def one(x: Mut[f32, N]):
    for i in lend.grid(N):
        x[i] = 1.0


@lend.kernel
def fill(x: Mut[f32, N]):
    for b in lend.blocks(2):
        one(x)
