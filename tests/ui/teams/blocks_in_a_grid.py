import lend
from lend import Out, f32
from lend.dims import M, N


@lend.kernel
def fill(x: Out[f32, N, M]):
    for i in lend.grid(N):
        for b in lend.blocks(M):
            x[i, b] = 1.0
