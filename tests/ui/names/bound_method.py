import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N

import threading

source = threading.Event()


@lend.kernel
def compute(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = source.is_set() * x[i]


compute(np.ones(4), np.zeros(4))
