import lend
from lend import Index, Mut, Ref, f32, i64
from lend.dims import M, N


@lend.kernel(require="proved")
def gather(x: Ref[f32, N], at: Ref[Index[N], M], y: Mut[f32, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]
