import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def wait(h: Atomic[i32, N]):
    for i in lend.grid(N):
        while h.load(0) == 0:
            pass
