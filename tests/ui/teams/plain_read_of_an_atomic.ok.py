import lend
from lend import Atomic, Out, i32
from lend.dims import N


@lend.kernel
def copy(h: Atomic[i32, N], x: Out[i32, N]):
    for i in lend.grid(N):
        x[i] = h.load(i)
