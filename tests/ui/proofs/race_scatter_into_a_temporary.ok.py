import lend
from lend import Index, Mut, Ref, f64, i32
from lend.dims import M, N


@lend.kernel
def pushed(to: Ref[Index[N, i32], M], x: Mut[f64, N]):
    new = lend.zeros(f64, N)
    for e in range(M):
        new[to[e]] += 1.0
    for i in lend.grid(N):
        x[i] = new[i]
