import numpy as np

import lend
from lend import Out, Vec, f32
from lend.dims import N


@lend.struct
class Body:
    mass: f32
    place: Vec[f32, 3]


@lend.kernel
def rest(bodies: Out[Body, N]):
    for i in lend.grid(N):
        bodies[i].mass = 1.0
        bodies[i].place[0] = 0.0
        for k in lend.static_range(2, 3):
            bodies[i].place[k] = 0.0


rest(np.empty(4, Body.dtype))
