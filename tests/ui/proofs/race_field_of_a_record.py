import lend
from lend import Mut, f64
from lend.dims import N


@lend.struct
class Cell:
    value: f64
    other: f64


@lend.kernel
def compute(cells: Mut[Cell, N]):
    for i in lend.grid(N - 1):
        cells[i].value = cells[i + 1].value * 0.5
