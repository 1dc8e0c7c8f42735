"""`pytest --beside`: what differs between a device and the processor is found, and what may differ is not complained of."""

import math

import numpy as np
import pytest
from harness import RELATIVE

import lend
from beside import coarsest, compare, compare_arrays, every_call, has_one_result, same_error, skip_first_come
from lend import Atomic, Mut, Ref, f64, i64
from lend.dims import N
from lend.driver.kernel import Kernel

NAN = float("nan")
FINE = RELATIVE["f8"]


@lend.kernel(math="strict")
def doubled(x: Mut[f64, N]) -> i64:
    count = 0
    for i in lend.grid(N):
        x[i] *= 2.0
        count += 1
    return count


@lend.kernel(math="strict")
def summed(x: Ref[f64, N], total: Atomic[f64, 1]):
    for i in lend.grid(N):
        total.add(0, x[i])


@lend.kernel(math="strict")
def counted(x: Ref[f64, N], total: Atomic[i64, 1]):
    for i in lend.grid(N):
        total.add(0, i64(x[i] > 0))


@lend.kernel(math="strict")
def waves(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] = math.sin(x[i])


def test_what_has_one_result():
    assert [has_one_result(kernel) for kernel in (doubled, counted, summed, waves)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("here", "there", "room"),
    [
        (1, 2, FINE),
        ((1, 2.0), (1, 2.5), FINE),
        (np.arange(3), np.array([0, 1, 3]), FINE),
        (np.ones(3), np.array([1, 1, np.nextafter(1, 2)]), 0.0),
        (np.zeros(2), np.array([0.0, -0.0]), 0.0),
        (np.array([1.0, NAN]), np.array([1.0, 2.0]), FINE),
        (np.array([1.0, np.inf]), np.array([1.0, 1.0]), FINE),
        (np.ones(2, "f4"), np.ones(2), FINE),
        (np.array([(1, 2.0)], "i4,f8"), np.array([(1, 2.5)], "i4,f8"), 0.0),
        (None, 1, FINE),
    ],
)
def test_what_differs_is_found(here, there, room):
    with pytest.raises(AssertionError):
        compare(here, there, room, "it")


def test_floats_agree_as_well_as_the_coarsest_of_a_call():
    record = np.zeros(1, [("a", "i8"), ("v", "f4", (3,))])
    given = ((np.ones(1), 3), (np.ones(1), (record, 2.0)), (np.ones(1, "f2"), np.ones(1, "f4")), (np.arange(2), 1), ())
    assert [coarsest(values) for values in given] == [FINE, RELATIVE["f4"], RELATIVE["f2"], 0.0, 0.0]


def test_what_may_differ_may():
    compare_arrays(np.ones(3), np.array([1, 1, np.nextafter(1, 2)]), FINE, "it")
    compare_arrays(np.ones(3), np.array([1, 1, 1 + 1e-7]), coarsest((np.ones(1, "f4"), np.ones(3))), "it")
    compare((True, NAN, np.array([NAN, 1.0, -np.inf])), (True, NAN, np.array([-NAN, 1.0, -np.inf])), 0.0, "it")


def test_each_call_is_made_twice_and_its_effect_is_seen_once(monkeypatch):
    x = np.ones(3)
    with every_call():
        assert doubled(x) == 3
        assert (x == 2).all()
        monkeypatch.setattr(Kernel, "on", lambda kernel, device: lambda y: y.__setitem__(0, 5.0) or 3)
        with pytest.raises(AssertionError, match="argument"):
            doubled(x)
        monkeypatch.setattr(Kernel, "on", lambda kernel, device: lambda y: y.__imul__(2) is None)
        with pytest.raises(AssertionError, match="result"):
            doubled(x)


def test_only_errors_of_memory_are_worded_by_the_device():
    of_memory = lend.DeviceMemoryError
    assert same_error(None, None) and same_error(of_memory("no memory"), of_memory("opencl:0 has no memory"))
    assert not same_error(lend.BoundsError("line 1"), lend.BoundsError("line 2"))
    assert not same_error(of_memory("no memory"), None)


def test_errors_are_compared(monkeypatch):
    @lend.kernel
    def first(x: Mut[f64, N], k: i64) -> f64:
        return x[k]

    with every_call():
        with pytest.raises(lend.BoundsError):
            first(np.ones(3), 3)
        monkeypatch.setattr(Kernel, "on", lambda kernel, device: lambda y, k: 1.0)
        with pytest.raises(AssertionError, match="there"):
            first(np.ones(3), 3)


def test_what_the_first_to_come_decides_is_skipped_with_its_reason(request):
    both = [pytest.Function.from_parent(request.node.parent, name=name, callobj=lambda: None) for name in ("marked", "other")]
    both[0].add_marker(pytest.mark.first_come(why="tickets"))
    skip_first_come(both)
    assert [[mark.kwargs for mark in item.iter_markers("skip")] for item in both] == [[{"reason": "not compared: tickets"}], []]
