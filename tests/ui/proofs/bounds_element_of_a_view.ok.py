import lend
from lend import Out, Ref, f64
from lend.dims import M, N


@lend.kernel
def compute(x: Ref[f64, N, M], y: Out[f64, N]):
    for i in lend.grid(N):
        row = x[i, :]
        total = 0.0
        for j in range(len(row)):
            total += row[j]
        y[i] = total
