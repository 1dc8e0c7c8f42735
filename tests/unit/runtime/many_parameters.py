"""Kernels for `test_entry.py` that need a file of their own."""

from __future__ import annotations

from typing import Any

import lend
from lend import Mut, f64
from lend.dims import N


def many(
    p0: f64,
    p1: f64,
    p2: f64,
    p3: f64,
    p4: f64,
    p5: f64,
    p6: f64,
    p7: f64,
    p8: f64,
    p9: f64,
    p10: f64,
    p11: f64,
    p12: f64,
    p13: f64,
    p14: f64,
    p15: f64,
    p16: f64,
    p17: f64,
    p18: f64,
    p19: f64,
    p20: f64,
    p21: f64,
    p22: f64,
    p23: f64,
    p24: f64,
    p25: f64,
    p26: f64,
    p27: f64,
    p28: f64,
    p29: f64,
    p30: f64,
    p31: f64,
    p32: f64,
    p33: f64,
    p34: f64,
    p35: f64,
    p36: f64,
    p37: f64,
    p38: f64,
    p39: f64,
) -> f64:
    """The sum of all."""
    return (
        p0
        + p1
        + p2
        + p3
        + p4
        + p5
        + p6
        + p7
        + p8
        + p9
        + p10
        + p11
        + p12
        + p13
        + p14
        + p15
        + p16
        + p17
        + p18
        + p19
        + p20
        + p21
        + p22
        + p23
        + p24
        + p25
        + p26
        + p27
        + p28
        + p29
        + p30
        + p31
        + p32
        + p33
        + p34
        + p35
        + p36
        + p37
        + p38
        + p39
    )


@lend.kernel
def bump(x: Mut[f64, N]):
    """x += 1."""
    for i in lend.grid(N):
        x[i] += 1.0


def make_bump() -> Any:
    """Another such kernel."""

    @lend.kernel
    def bump(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] += 1.0

    return bump
