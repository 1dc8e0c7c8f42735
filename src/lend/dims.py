"""Ready-made size names for annotations: `from lend.dims import N, M`. `class Rows(lend.Dim): ...` makes more."""

from lend.language.dims import B, C, D, H, K, L, M, N, P, Q, R, S, W

__all__ = ["B", "C", "D", "H", "K", "L", "M", "N", "P", "Q", "R", "S", "W"]
