"""Arrays of other libraries in host memory: kernels work on their memory."""

import numpy as np
import pytest
from harness import IN_PLACE, on

import lend
from lend import Mut, Ref, T, f64
from lend.dims import N


class Tensor:
    """What another library's array shows of itself."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@lend.kernel
def accumulated(xs: tuple[Ref[f64, N], ...], y: Mut[f64, N]):
    for i in lend.grid(N):
        for x in xs:
            y[i] += x[i]


@lend.kernel
def total(x: Ref[T, N]) -> T:
    s = T(0)
    for i in lend.grid(N):
        s += x[i]
    return s


def test_what_a_kernel_writes_is_there(target):
    y = np.ones(5)
    if not np.from_dlpack(y).flags.writeable:
        pytest.skip("this NumPy takes arrays of other libraries as read-only ones")
    for run in (on(accumulated, target), accumulated.py):
        run((Tensor(np.arange(5.0)), np.arange(5.0)), Tensor(y))
    np.testing.assert_array_equal(y, 1 + 4 * np.arange(5.0))


def test_their_type_decides(target):
    for dtype in (np.float32, np.int16):
        for run in (on(total, target), total.py):
            assert run(Tensor(np.arange(5, dtype=dtype))) == 10
    if IN_PLACE:
        assert "i16" in total.lower(Tensor(np.arange(5, dtype=np.int16))).typed
