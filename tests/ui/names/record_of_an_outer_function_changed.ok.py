import lend
from lend import f64


@lend.struct
class Pair:
    x: f64
    y: f64


@lend.kernel
def swapped(x: f64, y: f64) -> Pair:
    pair = Pair(x, y)

    def swap(pair):
        pair.x = y
        pair.y = x
        return pair

    pair = swap(pair)
    return pair


assert swapped(1.0, 2.0).x == 2.0
