"""What Python's tools see of a kernel."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import lend
from lend import Mut, Ref, f32
from lend.dims import N
from lend.driver.kernel import Kernel


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    """Adds `a x` to y."""
    for i in lend.grid(N):
        y[i] += a * x[i]


def test_help_shows_signature_and_docstring() -> None:
    text = pydoc.render_doc(saxpy, renderer=pydoc.plaintext)
    assert "saxpy(a:" in text and "Adds `a x` to y." in text
    assert "compiled function over borrowed arrays" not in text
    assert list(inspect.signature(saxpy).parameters) == ["a", "x", "y"]


def test_a_kernel_in_a_class_is_the_kernel() -> None:
    class Holder:
        add = saxpy

    assert Holder.add is saxpy and Holder().add is saxpy
    y = np.zeros(3, np.float32)
    Holder().add(2.0, np.ones(3, np.float32), y)
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_a_kernel_that_is_refused_prints_all_the_same() -> None:
    def wrong(x):
        return x

    kernel: Kernel[..., object] = Kernel.__new__(Kernel)
    with pytest.raises(lend.CompileError):
        kernel.__init__(wrong)
    assert "wrong" in repr(kernel)
    with pytest.raises(lend.ArgumentError, match="int"):
        Kernel(3)  # type: ignore[arg-type]
