"""The layout of Python's and NumPy's objects, found by looking."""

import sys

import numpy as np
import pytest

from lend.language.types import SCALARS
from lend.targets.cpu import python_abi as module


def test_the_layout_is_found_on_this_python():
    abi = module.python_abi()
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        assert abi is None
        return
    assert abi is not None
    fields = (abi.data, abi.dimensions, abi.shape, abi.strides, abi.base, abi.descr, abi.flags)
    assert len(set(fields)) == len(fields) and all(16 <= offset < np.ndarray.__basicsize__ for offset in fields)
    assert set(abi.scalars) == {scalar for scalar in SCALARS if scalar.name != "bf16"}


def test_the_functions_are_there():
    assert all(module.function_addresses().values())


def test_what_is_not_found_once_is_not_there():
    arrays = [np.zeros(3), np.zeros((2, 2))]
    with pytest.raises(module._Unexpected):
        module._find(arrays, 96, lambda array, at: False)
    with pytest.raises(module._Unexpected):
        module._find(arrays, 96, lambda array, at: True)


def test_an_unknown_layout_means_no_native_path(monkeypatch):
    def fail():
        raise module._Unexpected

    monkeypatch.setattr(module, "_probe", fail)
    assert module.python_abi.__wrapped__() is None
    monkeypatch.setattr(module.sys, "byteorder", "big")
    assert module.python_abi.__wrapped__() is None
