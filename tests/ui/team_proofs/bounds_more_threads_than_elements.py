import lend
from lend import Mut, f64


@lend.kernel
def scale(v: Mut[f64, 13]):
    for b in lend.blocks(2):
        for t in lend.threads(8):
            if 8 * b + t < 16:
                v[8 * b + t] *= 2.0
