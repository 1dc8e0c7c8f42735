import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def update(h: Atomic[i32, N]):
    for i in lend.grid(N):
        while True:
            old = h.load(i)
            if h.compare_exchange(i, 0, old + 1) == 0:
                break
