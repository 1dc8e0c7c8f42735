import lend
from lend import Out, Ref, f32
from lend.dims import N, M


@lend.kernel
def transpose(x: Ref[f32, N, M], y: Out[f32, M, N]):
    assert N % 8 == 0 and M % 8 == 0
    for bi, bj in lend.blocks(N // 8, M // 8):
        tile = lend.shared(f32, 8, 8)
        for i, j in lend.threads(8, 8):
            tile[i, j] = x[8 * bi + i, 8 * bj + j]
            y[8 * bj + i, 8 * bi + j] = tile[j, i]
