import lend
from lend import Mut, Ref, f32, i64
from lend.dims import M, N


@lend.kernel(require="proved")
def swap(x: Ref[f32, N], at: Ref[i64, M], y: Mut[f32, M], parts: i64):
    for i in lend.grid(M):
        y[i] = x[at[i]] + x[i]
        y[i] += f32(at[i] // parts)
