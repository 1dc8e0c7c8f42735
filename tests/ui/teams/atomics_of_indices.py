import lend
from lend import Atomic, Index, i64
from lend.dims import N


@lend.kernel
def count(h: Atomic[Index[N], N]):
    for i in lend.grid(N):
        h[i] += 1
