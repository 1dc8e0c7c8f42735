from typing import Literal

import numpy as np

import lend
from lend import Mut, Vec, f32
from lend.dims import N

Three = Vec[f32, Literal[3]]


@lend.struct
class Body:
    place: Three
    speed: Three


@lend.kernel
def moved(bodies: Mut[Body, N]):
    for i in lend.grid(N):
        for k in lend.static_range(3):
            bodies[i].place[k] += bodies[i].speed[k]


moved(np.ones(4, Body.dtype))
