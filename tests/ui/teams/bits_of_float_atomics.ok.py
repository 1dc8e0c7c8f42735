import lend
from lend import Atomic, f32, i32
from lend.dims import N


@lend.kernel
def mark(h: Atomic[i32, N]):
    for i in lend.grid(N):
        h.or_(i, 1)
