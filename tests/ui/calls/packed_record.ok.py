import numpy as np

import lend
from lend import Mut, f32, u8
from lend.dims import N


@lend.struct
class Pixel:
    value: f32
    weight: u8


@lend.kernel
def clear(image: Mut[Pixel, N]):
    for i in lend.grid(N):
        image[i].value = 0.0


packed = np.dtype([("value", "f4"), ("weight", "u1")])
clear(np.zeros(4, Pixel.dtype))
