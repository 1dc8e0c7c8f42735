import lend
from lend import Mut, f64
from lend.dims import N


@lend.function
def shift(to, source, i):
    to[i] = source[i + 1]


@lend.kernel
def compute(x: Mut[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N - 1):
        shift(x, y, i)
