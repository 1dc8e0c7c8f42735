import lend
from lend import Atomic, Out, Ref, i32
from lend.dims import N


@lend.kernel
def copy(x: Ref[i32, N], y: Out[i32, N]):
    for i in lend.grid(N):
        y[i] = x[i]


@lend.kernel
def count(h: Atomic[i32, N], y: Out[i32, N]):
    copy(h, y)
