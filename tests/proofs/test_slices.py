"""Slices of one array lent to a called kernel: shown to be apart, apart for some sizes and scalars, or refused."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import M, N

from .verdicts import assert_proved, refused


@lend.kernel
def add(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]


@lend.kernel
def add_first(x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        if M > 0:
            y[i] += x[0]


def aliases(kernel: lend.Kernel) -> list[str]:
    """The verdicts on what called kernels borrow."""
    return [p.verdict for p in kernel.proofs() if p.obligation == "alias"]


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


def test_parts_that_meet_at_a_scalar() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], h: i64):
        assert N == 2 * h
        add(y[0:h], y[h:N])

    races = [p.verdict for p in kernel.proofs() if p.obligation == "races"]
    assert set(races) <= {"proved", "launch"}
    y = np.arange(6.0)
    kernel(y, 3)
    assert y.tolist() == [0, 1, 2, 3, 5, 7]
    with pytest.raises(lend.ContractError):
        kernel(y, 4)


def test_parts_that_overlap_by_one() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, N], h: i64):
            assert N == 2 * h and h > 0
            add_first(y[0 : h + 1], y[h:N])


def test_a_scalar_that_has_changed_between_two_slices() -> None:
    with refused("L0407", "y[4]", "with N=8, h=5"):

        @lend.kernel
        def kernel(y: Mut[f64, N], h: i64):
            assert N == 8 and h == 5
            z = y[0:h]
            h -= 1
            add_first(z, y[h:N])

    @lend.kernel
    def twin(y: Mut[f64, N], h: i64):
        assert N == 8 and h == 5
        z = y[0:h]
        h += 1
        add_first(z, y[h:N])

    assert aliases(twin) == ["proved"]


def test_a_slice_of_an_earlier_step() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            z = y[0:1]
            for t in range(1, N):
                add(z, y[t : t + 1])
                z = y[t : t + 1]


def test_the_row_behind_a_part() -> None:
    @lend.kernel
    def last_of(x: Ref[f64, M, N], y: Mut[f64, N]):
        for j in lend.grid(N):
            for i in range(M):
                y[j] = x[i, j]

    @lend.kernel
    def kernel(y: Mut[f64, M, N], h: i64):
        last_of(y[0:h], y[h])

    races = [p.verdict for p in kernel.proofs() if p.obligation == "races"]
    assert set(races) <= {"proved", "launch"}
    y = np.arange(6.0).reshape(3, 2)
    kernel(y, 2)
    assert y.tolist() == [[0, 1], [2, 3], [2, 3]]
    for outside in (-1, 3):
        with pytest.raises(lend.BoundsError):
            kernel(y, outside)


def test_the_last_row_of_a_part_is_its_first_if_it_has_but_one() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, M, N], h: i64):
        z = y[0:h]
        add(z[0], y[h - 1])

    assert aliases(kernel) == ["launch"]
    y = np.arange(6.0).reshape(3, 2)
    kernel(y, 3)
    assert y.tolist() == [[0, 1], [2, 3], [4, 6]]
    with pytest.raises(lend.BorrowError, match=r"overlap unless h >= 2 or h <= 0"):
        kernel(y, 1)
    assert y.tolist() == [[0, 1], [2, 3], [4, 6]]


def test_a_slice_that_a_branch_may_have_replaced() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(x: Ref[f64, Literal[8]], y: Mut[f64, Literal[8]]):
            z = y[0:4]
            if x[0] > 0.0:
                z = y[4:8]
            add(z, y[4:8])


def test_a_contract_keeps_parts_apart() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], a: i64, b: i64):
        assert 0 <= a <= b <= N
        add_first(y[0:a], y[b:N])

    assert aliases(kernel) == ["proved"]
    y = np.ones(4)
    kernel(y, 1, 3)
    assert y.tolist() == [1, 1, 1, 2]


def test_without_the_contract_the_call_is_looked_at() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], a: i64, b: i64):
        add_first(y[0:a], y[b:N])

    assert aliases(kernel) == ["launch"]
    y = np.ones(4)
    kernel(y, 1, 3)
    assert y.tolist() == [1, 1, 1, 2]
    with pytest.raises(lend.BorrowError):
        kernel(y, 3, 2)
    kernel(y, 0, 2)
    assert y.tolist() == [1, 1, 1, 2]


def test_even_and_odd_elements() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N]):
        add_first(y[::2], y[1::2])

    assert aliases(kernel) == ["proved"]
    with refused("L0407"):

        @lend.kernel
        def twin(y: Mut[f64, N]):
            add_first(y[::2], y[1::3])


def test_neighbours_in_a_loop() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N]):
        for t in range(1, N):
            add_first(y[t - 1 : t], y[t : t + 1])

    assert aliases(kernel) == ["proved"]
    y = np.arange(4.0)
    kernel(y)
    assert y.tolist() == [0, 1, 3, 6]
    with refused("L0407"):

        @lend.kernel
        def twin(y: Mut[f64, N]):
            for t in range(1, N):
                add_first(y[t - 1 : t + 1], y[t : t + 1])


def test_rows_of_a_flat_array() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], n: i64):
        for t in range(1, N // n):
            add(y[(t - 1) * n : t * n], y[t * n : (t + 1) * n])

    y = np.arange(6.0)
    kernel(y, 2)
    assert y.tolist() == [0, 1, 2, 4, 6, 9]


def test_a_promise_is_taken() -> None:
    @lend.kernel
    def kernel(p: Ref[i64, N], y: Mut[f64, M]):
        for t in range(N):
            with lend.unchecked("p never holds 0"):
                add_first(y[0:1], y[p[t] : p[t] + 1])

    assert aliases(kernel) == ["assumed"]
    y = np.ones(3)
    kernel(np.array([1, 2]), y)
    assert y.tolist() == [1, 2, 2]


def test_what_is_not_used_is_borrowed_all_the_same() -> None:
    @lend.kernel
    def first(x: Mut[f64, N], y: Ref[f64, N]):
        x[0] = 1.0

    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            first(y, y)


def test_a_refused_call_is_told_once() -> None:
    with pytest.raises(lend.CompileError) as caught:

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            add_first(y, y)

    assert "L0310" not in str(caught.value)
    assert "both borrow y[0], with N=1, and `y` writes" in str(caught.value)


def test_conditions_speak_of_what_the_source_names() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], h: i64):
        add_first(y[0:h], y[h:N])

    said = {p.place.text: p.condition for p in kernel.proofs() if p.obligation == "bounds" and p.place.text.startswith("y[")}
    assert said["y[0:h]"] == "h <= N and abs(h) <= 2**46"
    assert said["y[h:N]"] == "h >= 0 and abs(h) <= 2**46"


def test_parts_that_change_places() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], h: i64):
        assert 0 <= h <= N and h < 2**40
        z = y[0:h]
        w = y[h:N]
        for _ in range(3):
            add_first(z, w)
            z, w = w, z

    assert aliases(kernel) == ["proved"]
    y = np.array([1.0, 2.0, 3.0, 4.0])
    kernel(y, 2)
    assert y.tolist() == [5.0, 6.0, 9.0, 10.0]


def test_a_part_that_takes_the_place_of_another() -> None:
    with refused("L0407"):

        @lend.kernel
        def kernel(y: Mut[f64, N], h: i64):
            assert 0 <= h <= N and h < 2**40
            z = y[0:h]
            w = y[h:N]
            for _ in range(3):
                add_first(z, w)
                z, w = w, w


def test_parts_chosen_together_and_apart() -> None:
    @lend.kernel
    def together(c: i64, y: Mut[f64, Literal[8]]):
        if c > 0:
            z = y[0:4]
            w = y[4:8]
        else:
            z = y[4:8]
            w = y[0:4]
        add(z, w)

    assert aliases(together) == ["proved"]
    y = np.arange(8.0)
    together(0, y)
    assert y.tolist() == [4.0, 6.0, 8.0, 10.0, 4.0, 5.0, 6.0, 7.0]
    with refused("L0407"):

        @lend.kernel
        def apart(c: i64, d: i64, y: Mut[f64, Literal[8]]):
            z = y[0:4]
            w = y[4:8]
            if c > 0:
                z = y[4:8]
            if d > 0:
                w = y[0:4]
            add(z, w)


def test_parts_that_two_loops_exchange() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, Literal[8]], n: i64):
        z = y[0:4]
        w = y[4:8]
        for i in range(n):
            for _ in range(i):
                z, w = w, z
            add(z, w)

    assert aliases(kernel) == ["proved"]
    with refused("L0407"):

        @lend.kernel
        def twin(y: Mut[f64, Literal[8]], n: i64):
            z = y[0:4]
            w = y[4:8]
            for i in range(n):
                for _ in range(i):
                    z, w = w, z
                add(z, w)
                z = w


def test_a_region_that_exchanges_parts_under_a_condition() -> None:
    with refused("L0311"):

        @lend.kernel
        def kernel(y: Mut[f64, Literal[8]]):
            z = y[0:4]
            w = y[4:8]
            for i in lend.grid(4):
                p = z
                q = w
                if i > 1:
                    p = w
                    q = z
                p[0] = q[0]


def test_parts_between_loops_that_exchange_them() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, Literal[8]], n: i64):
        z = y[0:4]
        w = y[4:8]
        for _ in range(n):
            for i in lend.grid((1, 4)):
                z[i] = w[i - 1]
            z, w = w, z

    y = np.arange(8.0)
    kernel(y, 1)
    assert y.tolist() == [0, 4, 5, 6, 4, 5, 6, 7]
    with refused("L0311"):

        @lend.kernel
        def twin(y: Mut[f64, Literal[8]], n: i64):
            z = y[0:4]
            w = y[3:7]
            for _ in range(n):
                for i in lend.grid((1, 4)):
                    z[i] = w[i - 1]
                z, w = w, z
