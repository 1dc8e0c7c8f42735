import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N


class Borders(lend.Dim):
    equals = N + 1


@lend.kernel
def widths(borders: Ref[f64, Borders], out: Mut[f64, N]):
    for i in lend.grid(N):
        out[i] = borders[i + 1] - borders[i]


widths(np.zeros(5), np.zeros(4))
