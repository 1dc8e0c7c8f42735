import lend
from lend import Atomic, i32
from lend.dims import M, N


@lend.kernel
def count(h: Atomic[i32, N, M]):
    for i, j in lend.grid(N, M):
        h.add((i, j), 1)
