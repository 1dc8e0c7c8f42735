"""Which loops a device may run with several neighbouring elements in each thread, and where their accesses lie."""

from __future__ import annotations

from typing import Any

import pytest
from planned import operations_of

import lend
from lend import Mut, Out, Ref, f32, f64, i8, i32, i64
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.ir.typed import Load, Store
from lend.plan.device import device_plan
from lend.plan.packs import Packs, Unpacked
from lend.plan.regions import DeviceRegion


def region(kernel: Any, elements: int = 4) -> DeviceRegion:
    """The first loop of a kernel, planned for a device."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    return device_plan(compilation.scheduled, elements).regions[0]


def packs(kernel: Any, elements: int = 4) -> Packs:
    found = region(kernel, elements).packs
    assert isinstance(found, Packs)
    return found


def places(kernel: Any, array: str, elements: int = 4) -> list[int | None]:
    """Where the first element of each access of an array lies, modulo the pack's length, in the order of the text."""
    planned, found = region(kernel, elements), packs(kernel, elements)
    accesses = [o for o in operations_of(planned.parallel.body) if isinstance(o, Load | Store) and o.array.name == array]
    by_span = {(o.span.line, o.span.column): place for o, place in found.places.items()}
    return [by_span.get((o.span.line, o.span.column)) for o in accesses]


@lend.function
def sum_of_two(x: Any, i: int) -> float:
    return x[i] + x[i + 1]


@lend.kernel
def neighbours(x: Ref[f32, N], z: Ref[f32, N, K], y: Mut[f32, N], k: i64):
    for i in lend.grid((1, N - 5)):
        y[i] = x[i - 1] + x[i] + x[i + 5] + x[N - 1 - i] + x[i + min(max(k, 0), 4)] + z[i, 0]


@lend.kernel
def called(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N - 1):
        y[i] = sum_of_two(x, i)


@lend.kernel
def product(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@lend.kernel
def mixed(x: Ref[i8, N], y: Ref[f32, N], z: Out[f64, N]):
    for i in lend.grid(N):
        z[i] = f64(x[i]) + y[i]


def test_places_of_constant_distance_are_known() -> None:
    assert places(neighbours, "x") == [3, 0, 1, None, None]
    assert places(neighbours, "y") == [0]
    assert places(neighbours, "z") == [None]


def test_a_function_reads_arrays_that_it_is_given() -> None:
    assert sorted(packs(called).places.values()) == [0, 0, 1]
    assert sorted(value.name or "" for value, _ in packs(called).arrays) == ["x", "y"]


def test_what_is_shared_and_what_lies_across_is_no_wide_access() -> None:
    assert [(value.name, along) for value, along in packs(product).arrays] == [("b", 1), ("c", 1)]
    assert places(product, "a") == [None]


def test_alignment_is_that_of_the_pack_and_no_more_than_is_asked_of_rows() -> None:
    found = packs(neighbours)
    by_place = {place: operation for operation, place in found.places.items()}
    assert [found.alignment(by_place[0], k, 4) for k in range(4)] == [16, 4, 8, 4]
    assert [found.alignment(by_place[3], k, 4) for k in range(4)] == [4, 16, 4, 8]
    assert [packs(mixed).unit(size) for size in (1, 4, 8)] == [4, 16, 16]
    assert [packs(mixed, 2).unit(size) for size in (1, 4, 8)] == [2, 8, 16]
    assert found.alignment(operations_of(region(neighbours).parallel.body)[0], 0, 4) == 1


@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def looked_up(where: Ref[i32, N], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[where[i]]


@lend.kernel
def every_second(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid((0, N, 2)):
        y[i] = x[i]


@lend.kernel
def triangle(x: Ref[f64, N, N], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for j in range(i):
            s += x[j, i]
        y[i] = s


@lend.kernel
def private(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        seen = lend.local(f64, 4)
        for k in range(4):
            seen[k] = x[i] + f64(k)
        y[i] = seen[i % 4]


@lend.kernel
def across(x: Ref[f64, N, M], y: Mut[f64, N, M]):
    for i in lend.grid(N):
        for j in range(M):
            y[i, j] = x[i, j]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (total, Unpacked.REDUCTION),
        (looked_up, Unpacked.CHECK),
        (every_second, Unpacked.STEP),
        (triangle, Unpacked.LOOP),
        (private, Unpacked.OPERATION),
        (across, Unpacked.NOWHERE),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "__name__") else value.name,
)
def test_why_not(kernel: Any, why: Unpacked) -> None:
    assert region(kernel).packs is why


def test_nobody_gets_packs_unasked() -> None:
    assert region(neighbours, 1).packs is Unpacked.ONE


def test_independent_by_word_only() -> None:
    @lend.kernel
    def promised(to: Ref[i64, N], x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid(N):
            with lend.unchecked("to is a permutation"):
                y[to[i]] = x[i]

    assert region(promised).packs is Unpacked.ORDER
