"""Which kernels of a run of the tests are looked at: each place's once for everything that decides its code."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import lend
from lend import Mut, f64
from lend.dims import N

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks.run_kernels import distinct  # noqa: E402


def added(number: Any, math: Any = "default") -> Any:
    @lend.kernel(math=math)
    def adds(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] += number

    return adds


def mapped(number: float) -> Any:
    @lend.function
    def f(a: f64) -> f64:
        return a * number

    @lend.kernel
    def maps(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] = f(x[i])

    return maps


def count(*kernels: Any, every: bool = False) -> int:
    return len(distinct(kernels, every=every, library=True))


def test_what_a_place_makes_again_is_the_same_kernel() -> None:
    assert count(added(1.0), added(1.0)) == 1
    assert count(mapped(1.0), mapped(1.0)) == 1


def test_captured_values_and_settings_make_another() -> None:
    assert count(added(1.0), added(2.0), added(2.0, "strict")) == 3
    assert count(mapped(1.0), mapped(2.0)) == 2


def test_so_do_types_where_all_are_asked_for() -> None:
    kernel = added(1.0)
    kernel(np.zeros(4))
    kernel(np.zeros(8)[::2])
    assert count(kernel) == 1
    assert count(kernel, every=True) == 2
