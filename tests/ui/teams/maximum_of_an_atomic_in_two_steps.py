import lend
from lend import Atomic, Ref, i32
from lend.dims import N


@lend.kernel
def peaks(h: Atomic[i32, N], x: Ref[i32, N]):
    for i in lend.grid(N):
        h[i] = max(h[i], x[i])
