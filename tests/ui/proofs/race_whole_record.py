import lend
from lend import Mut, f64, i64
from lend.dims import N


@lend.struct
class Cell:
    value: f64
    count: i64


@lend.kernel
def compute(cells: Mut[Cell, N]):
    for i in lend.grid(N):
        cells[i // 2] = Cell(1.0, 1)
