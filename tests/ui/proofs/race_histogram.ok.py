from typing import Literal

import lend
from lend import Atomic, Ref, i64, u8
from lend.dims import N


@lend.kernel
def compute(x: Ref[u8, N], counts: Atomic[i64, N, Literal[256]]):
    for i in lend.grid(N):
        counts[0, x[i]] += 1
