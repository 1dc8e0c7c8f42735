"""Pictures of bytes: to grey, a histogram, and equalisation through a look-up table."""

from __future__ import annotations

from typing import Literal

import numpy as np

import lend
from lend import Mut, Out, Ref, i32, i64, u8
from lend.dims import H, W


@lend.kernel
def to_grey(rgb: Ref[u8, H, W, Literal[3]], grey: Out[u8, H, W]):
    for i, j in lend.grid(H, W):
        grey[i, j] = u8((77 * i32(rgb[i, j, 0]) + 150 * i32(rgb[i, j, 1]) + 29 * i32(rgb[i, j, 2])) >> 8)


@lend.kernel
def histogram(grey: Ref[u8, H, W], rows: Mut[i64, H, Literal[256]], counts: Out[i64, Literal[256]]):
    for i in lend.grid(H):  # each row counts for itself
        for k in range(256):
            rows[i, k] = 0
        for j in range(W):
            rows[i, grey[i, j]] += 1
    for k in lend.grid(256):
        total = i64(0)
        for i in range(H):
            total += rows[i, k]
        counts[k] = total


@lend.kernel
def equalise(grey: Ref[u8, H, W], counts: Ref[i64, Literal[256]], table: Mut[u8, Literal[256]], out: Out[u8, H, W]):
    below = i64(0)
    for k in range(256):  # a running sum: sequential, at host level
        below += counts[k]
        table[k] = u8(below * 255 // max(H * W, 1))
    for i, j in lend.grid(H, W):
        out[i, j] = table[grey[i, j]]


def main() -> None:
    rng = np.random.default_rng(1)
    rgb = (rng.random((240, 320, 3)) ** 2 * 255).astype(np.uint8)
    grey, out, table = np.zeros((240, 320), np.uint8), np.zeros((240, 320), np.uint8), np.zeros(256, np.uint8)
    rows, counts = np.zeros((240, 256), np.int64), np.zeros(256, np.int64)
    to_grey(rgb, grey)
    histogram(grey, rows, counts)
    equalise(grey, counts, table, out)

    weighted = (rgb.astype(np.int32) @ np.array([77, 150, 29], np.int32)) >> 8
    expected_counts = np.bincount(weighted.ravel(), minlength=256)
    expected_table = (np.cumsum(expected_counts) * 255 // weighted.size).astype(np.uint8)
    assert (grey == weighted).all()
    assert (counts == expected_counts).all()
    assert (out == expected_table[weighted]).all()
    print(f"image: {grey.size} pixels equalised as by NumPy, mean {grey.mean():.1f} -> {out.mean():.1f}")


if __name__ == "__main__":
    main()
