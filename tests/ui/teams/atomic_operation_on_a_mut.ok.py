import lend
from lend import Atomic, Mut, i32
from lend.dims import N


@lend.kernel
def double(h: Atomic[i32, N]):
    for i in lend.grid(N):
        h.add(i, 2)
