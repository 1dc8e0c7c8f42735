import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N]):
    for i in lend.grid(N):
        h.add(i, 1, "acquire")
