import numpy as np

import lend
from lend import Atomic, i32
from lend.dims import N


@lend.kernel
def count(h: Atomic[i32, N]):
    for i in lend.grid(N):
        h[i] += 1


memory = np.zeros(32, np.uint8)
count(memory[1:17].view(np.int32))
