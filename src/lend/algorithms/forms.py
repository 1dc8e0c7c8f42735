"""What makes a public function of this package two things: a Python function over NumPy arrays, and a function inside kernels.

Does: tie the second form to the first; judge arguments from Python; make kernels late.  Does not: say what they do.
Invariants: the compiler knows a function with another form by the attribute `__lend_function__`, wherever it is captured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from lend.diagnostics.errors import ArgumentError, ShapeError
from lend.driver.kernel import Kernel, kernel
from lend.language.intrinsics import DeviceFunction

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

REAL = "an array of integers, floats or bools"


def in_kernels(form: DeviceFunction[Any, Any]) -> Callable[[F], F]:
    """Inside kernels the decorated function is `form`."""

    def decorate(function: F) -> F:
        function.__lend_function__ = form  # type: ignore[attr-defined]
        return function

    return decorate


class late_kernel(Generic[P, R]):
    """A kernel that is made when it is first called: making it judges it, which takes a moment, and most are never called."""

    __lend_kernel__ = True

    def __init__(self, python: Callable[P, R]) -> None:
        self.__wrapped__ = python
        self.__name__, self.__doc__ = python.__name__, python.__doc__

    @cached_property
    def kernel(self) -> Kernel[P, R]:
        """The kernel itself."""
        return kernel(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        """What else the compiler asks of kernels."""
        if name not in ("content_key", "front_end", "lower", "proofs", "explain"):
            raise AttributeError(name)
        return getattr(self.kernel, name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.kernel(*args, **kwargs)


def row(value: Any, function: str, name: str = "x", *, complex: bool = False) -> np.ndarray[Any, Any]:
    """An argument as an array of one dimension of numbers. Raises ArgumentError and ShapeError."""
    array = np.asarray(value)
    kind = array.dtype.kind
    real = kind in "biuf" or (kind == "V" and array.dtype.name == "bfloat16")
    if (not real and not (complex and kind == "c")) or array.dtype.itemsize > (16 if kind == "c" else 8):
        wanted = REAL.replace(" or", ", complex numbers or") if complex else REAL
        raise ArgumentError(f"{function}: {name} must be {wanted}, not of {array.dtype}")
    if array.ndim != 1:
        raise ShapeError(f"{function}: {name} must have one dimension, not {array.ndim}")
    return array


def count(value: object, function: str, name: str, least: int = 0) -> int:
    """An argument that counts something. Raises ArgumentError."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentError(f"{function}: {name} must be an int, not {value!r}")
    if value < least:
        raise ArgumentError(f"{function}: {name} must be at least {least}, not {value}")
    return int(value)  # pyright: ignore[reportUnknownArgumentType]


def of_type(array: np.ndarray[Any, Any], value: Any, function: str) -> Any:
    """A number as an element of an array. Raises ArgumentError if it is none."""
    try:
        with np.errstate(all="ignore"):
            element = array.dtype.type(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{function}: {value!r} is no number of {array.dtype}") from None
    return element
