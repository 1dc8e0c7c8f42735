import lend
from lend import Atomic, Mut, f32, i64
from lend.dims import M, N


@lend.kernel
def work(h: Atomic[i64, N], x: Mut[f32, M]):
    for i in lend.grid(N):
        while h.load(0) < M:
            pass
