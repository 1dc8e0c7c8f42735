import numpy as np

import lend
from lend import Ref, f64
from lend.dims import N


@lend.struct
class Sums:
    first: f64
    second: f64


@lend.kernel
def moments(x: Ref[f64, N]) -> Sums:
    sums = Sums(0.0, 0.0)
    for i in lend.grid(N):
        sums.first += x[i]
    return sums


assert moments(np.ones(3)).first == 3.0
