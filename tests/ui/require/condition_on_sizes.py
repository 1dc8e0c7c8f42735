import lend
from lend import Mut, Ref, f32
from lend.dims import M, N


@lend.kernel(require="proved")
def head(x: Ref[f32, N], y: Mut[f32, M]):
    for i in lend.grid(M):
        y[i] = x[i]
