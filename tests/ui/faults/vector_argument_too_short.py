from typing import Literal

import lend
from lend import Vec, f32

Three = Vec[f32, Literal[3]]


@lend.kernel
def second(v: Three) -> f32:
    return v[1]


assert second((1, 2)) == 2.0
