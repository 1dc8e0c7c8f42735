import lend
from lend import Atomic, i8, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i8, N]):
    for i in lend.grid(N):
        h[i] += 1
