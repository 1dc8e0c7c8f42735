import lend
from lend import Atomic, Mut, i32, i64
from lend.dims import N


@lend.function
def bump(h: Atomic[i32, N], i: i64):
    h[i] += 1


@lend.kernel
def count(h: Atomic[i32, N]):
    for i in lend.grid(N):
        bump(h, i)
