"""Slices of one array lent to a called kernel: apart if they are written in numbers that say so."""

from __future__ import annotations

from typing import Literal

import numpy as np

import lend
from lend import Mut, Ref, f64
from lend.dims import N

from .verdicts import assert_proved, refused


@lend.kernel
def add(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]


def test_two_halves_in_numbers() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, Literal[8]]):
        add(y[0:4], y[4:8])

    assert_proved(kernel)
    y = np.arange(8.0)
    kernel(y)
    assert y.tolist() == [0, 1, 2, 3, 4, 6, 8, 10]


def test_two_halves_that_overlap() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, Literal[8]]):
            add(y[0:5], y[3:8])


def test_two_rows() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, Literal[2], N]):
        add(y[0], y[1])

    assert_proved(kernel)
    y = np.arange(4.0).reshape(2, 2)
    kernel(y)
    assert y.tolist() == [[0, 1], [2, 4]]


def test_one_row_twice() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, Literal[2], N]):
            add(y[1], y[1])


def test_a_row_of_a_slice_is_a_row_of_another_number() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, Literal[3], N]):
            z = y[1:3]
            add(z[0], y[1])


def test_a_part_of_the_same_memory_in_other_sizes() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, Literal[4], Literal[4]]):
            z = y.reshape(2, 8)
            add(z[0, 0:4], y[1])


def test_a_slice_that_a_branch_may_have_replaced() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(x: Ref[f64, Literal[8]], y: Mut[f64, Literal[8]]):
            z = y[0:4]
            if x[0] > 0.0:
                z = y[4:8]
            add(z, y[4:8])
