"""Each call that goes to a device is made on the processor too: both give the same.

Does: stand between callers and all kernels (`every_call`), make each call on the processor with copies of its arrays, then on the
device, and compare results, arrays and errors. Skip tests marked `first_come`, each with the reason that it gives.
Does not: choose the device (`LEND_DEVICE` does), or look at calls with arrays that live there.
Invariants: integers and bools agree bit for bit, and so do floats of kernels with `math="strict"` that ask for nothing which each
device may round in its own way (exp, sin, …) or do in its own order (atomic sums); others agree within `RELATIVE` of the harness
for the coarsest of the floats that the call is about, times the largest of the array. NaN is NaN, whatever its bits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness import RELATIVE

from guard import Lent
from lend.diagnostics.errors import DeviceMemoryError
from lend.driver.pipeline import run
from lend.ir.typed import Atomic, Math, Region
from lend.language.types import F32, F64


def outcome(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    """What a call gives, and what it raises."""
    try:
        return call(*args, **kwargs), None
    except Exception as error:
        return None, error


def coarsest(values: Any) -> float:
    """How far results may differ that are computed from these: a sum of f32 is no better for being one of f64."""
    if isinstance(values, tuple):
        return max(map(coarsest, values), default=0.0)
    dtype = getattr(values, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return 0.0
    parts = [dtype] if dtype.names is None else [dtype[name].base for name in dtype.names]
    return max(RELATIVE.get(f"{part.kind}{part.itemsize}", 0.0) for part in parts)


def compare(here: Any, there: Any, room: float, what: str) -> None:
    """Fail if results differ: by more than `room`, relatively, if it is not 0, else in any bit."""
    if isinstance(here, tuple):
        assert isinstance(there, tuple) and len(here) == len(there), what
        for position, (a, b) in enumerate(zip(here, there, strict=True)):
            compare(a, b, room, f"{what}[{position}]")
    elif isinstance(here, np.ndarray | np.generic | int | float | complex):
        a, b = np.asarray(here), np.asarray(there)
        assert a.dtype == b.dtype and a.shape == b.shape, what
        compare_arrays(a, b, room, what)
    else:
        assert here == there or (here != here and there != there), what


def compare_arrays(a: np.ndarray, b: np.ndarray, room: float, what: str) -> None:
    """Fail if the elements differ."""
    if a.dtype.names is not None:
        for name in a.dtype.names:
            compare_arrays(a[name], b[name], room, f"{what}.{name}")
        return
    kind = f"{a.dtype.kind}{a.dtype.itemsize}"
    if kind not in RELATIVE:
        assert np.array_equal(a, b), f"{what}: on the device it is not what it is on the processor"
        return
    a, b = (x.astype("c16" if x.dtype.kind == "c" else "f8") for x in (a, b))
    if not room:
        assert (
            np.array_equal(a, b, equal_nan=True)
            and np.array_equal(np.signbit(a.real), np.signbit(b.real))
            or (np.isnan(a).any() and np.array_equal(a, b, equal_nan=True))
        ), f"{what}: its bits on the device are not those on the processor"
        return
    known = np.isfinite(a)
    assert np.array_equal(a[~known], b[~known], equal_nan=True), f"{what}: it is not finite in other places"
    allowed = max(RELATIVE[kind], room) * max(np.abs(a[known]).max(initial=0.0), 1e-30)
    worst = np.abs(a[known] - b[known]).max(initial=0.0)
    assert worst <= allowed, f"{what}: it differs by {worst}, and {allowed} is allowed"


EXACT = {"sqrt", "fma", "floor", "ceil", "trunc", "rint", "round", "abs", "copysign", "isnan", "isinf", "isfinite", "signbit"}
"""Mathematical functions that have one result on all devices."""


def rounded_freely(region: Region) -> bool:
    """Whether a tree has other functions of floats, or rounds in an order that nobody knows: that of atomic operations."""
    return any(
        (isinstance(operation, Math) and operation.function not in EXACT and not operation.function.startswith("as_"))
        or (isinstance(operation, Atomic) and operation.result.type in (F32, F64))
        or any(map(rounded_freely, operation.regions))
        for operation in region.operations
    )


def has_one_result(kernel: Any) -> bool:
    """Whether a kernel's floats are the same bits everywhere."""
    if kernel._definition.math != "strict":
        return False
    return not any(rounded_freely(run(c, until="typecheck").kernel.body) for c in kernel.compilations())


def same_error(here: Exception | None, there: Exception | None) -> bool:
    """Whether two calls ended in the same way. Each device says that it is itself that has no memory."""
    return type(here) is type(there) and (isinstance(here, DeviceMemoryError) or str(here) == str(there))


def skip_first_come(items: Iterable[pytest.Item]) -> None:
    """Skip tests of kernels whose elements go to whoever comes first: two runs of one need not agree."""
    for item in items:
        marker = item.get_closest_marker("first_come")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"not compared: {marker.kwargs['why']}"))


@contextmanager
def every_call() -> Iterator[None]:
    """Calls of kernels inside the block with NumPy arrays are made on the processor too."""
    from lend.driver.kernel import Kernel
    from lend.runtime import vectorcall
    from lend.runtime.arrays import has_array

    inside, plain, route = threading.local(), Kernel.__call__, vectorcall.route

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "call", False) or has_array(args, kwargs):
            return plain(self, *args, **kwargs)
        values = (*args, *kwargs.values())
        copies = Lent(values, "end")
        inside.call = True
        try:
            own = copies.values
            here, wrong = outcome(self.on("cpu"), own[: len(args)], dict(zip(kwargs, own[len(args) :], strict=True)))
            there, error = outcome(lambda *a, **k: plain(self, *a, **k), args, kwargs)
        finally:
            inside.call = False
        assert same_error(wrong, error), f"{self.__name__}: {error!r} there, {wrong!r} here"
        if error is not None:
            try:
                raise error
            finally:
                del wrong, error  # a frame and what is raised in it would hold each other, and the arrays
        room = 0.0 if has_one_result(self) else max(coarsest(values), min(RELATIVE.values()))
        compare(own, values, room, f"{self.__name__}: argument")
        compare(here, there, room, f"{self.__name__}: result")
        return there

    def of_others(instance: Any, address: int) -> None:
        """Kernels are called by Python, so that it calls `call`."""
        if not isinstance(instance, Kernel):
            route(instance, address)

    with mock.patch.object(Kernel, "__call__", call), mock.patch.object(vectorcall, "route", of_others):
        vectorcall.enable(Kernel)
        yield
    vectorcall.enable(Kernel)
