"""`pytest --guarded`: arrays between pages without access are what they were; an access beyond is the end of the process."""

import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import lend
from guard import PAGE, Lent, block, every_call
from lend import Mut, Ref, f64
from lend.dims import N
from lend.runtime import vectorcall

SIDES = pytest.mark.parametrize("side", ["end", "start"])
Pair = namedtuple("Pair", ["left", "right"])


def edge(array, side):
    low, high = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)
    return high if side == "end" else low


@SIDES
@pytest.mark.parametrize("layout", [(slice(None),), (slice(None, None, 2),), (slice(None, None, -3),), (slice(1, 1),)])
def test_an_array_keeps_its_shape_and_strides_and_touches_the_page(layout, side):
    array = np.arange(1000.0).reshape(20, 50)[layout]
    (there,) = Lent((array,), side).values
    assert there.strides == array.strides and (there == array).all() and there.ctypes.data != array.ctypes.data
    assert edge(there, side) % PAGE == 0


def test_a_misaligned_array_stays_misaligned():
    array = np.frombuffer(bytearray(8 * 11 + 1), np.uint8)[1:].view(np.float64)
    for side in ("end", "start"):
        assert not Lent((array,), side).values[0].flags.aligned and not array.flags.aligned
    records = np.zeros(7, [("a", "u1"), ("b", "f8")])["b"]
    assert not Lent((records,), "end").values[0].flags.aligned


@SIDES
def test_arrays_that_overlap_still_do(side):
    array = np.arange(12)
    lent = Lent((array[:8], 1, Pair(array[4:], array[::2]), array), side)
    first, one, pair, whole = lent.values
    assert one == 1 and isinstance(pair, Pair)
    whole[5] = 70
    whole[6] = 80
    assert first[5] == 70 and pair.left[1] == 70 and pair.right[3] == 80 and array[5] == 5
    lent.bring_back()
    assert array.tolist() == [0, 1, 2, 3, 4, 70, 80, 7, 8, 9, 10, 11]


def test_only_what_has_changed_is_written_back():
    array = np.arange(4)
    lent = Lent((array,), "end")
    array[0] = 9  # by another thread, say
    lent.values[0][3] = 7
    lent.bring_back()
    assert array.tolist() == [9, 1, 2, 7]


def test_what_may_not_be_written_still_may_not():
    array = np.arange(4)
    array.flags.writeable = False
    assert not Lent((array,), "end").values[0].flags.writeable


@SIDES
def test_calls_that_compiled_code_takes_are_guarded_too(side):
    seen = []

    @lend.kernel
    def double(x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] += 2 * x[i]

    x, y = np.arange(5.0), np.ones(5)
    with every_call(side, device_memory=False):
        route = vectorcall.route
        vectorcall.route = lambda kernel, address: (seen.append(address), route(kernel, address))
        try:
            for _ in range(5):
                double(x, y=y)
            for _ in range(5):
                double(x, y)
            with pytest.raises(lend.LendError):
                double(x, x[1:])
        finally:
            vectorcall.route = route
    assert y.tolist() == (1 + 20 * x).tolist()
    assert bool(seen) == vectorcall.enabled(type(double))
    double(x, y)


@SIDES
def test_an_access_beyond_ends_the_process(side):
    past = "data + 100" if side == "end" else "data - 1"
    read = f"kept = guard.block(100, {side!r}); data = kept.ctypes.data; ctypes.string_at(data, 100); print(1, flush=True)"
    code = f"import ctypes, guard; {read}; ctypes.string_at({past}, 1); print(2, flush=True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode < 0 and done.stdout == b"1\n"
    assert block(100, side).tobytes() == bytes(100)
