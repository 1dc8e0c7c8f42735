"""Kernels as plain Python: results, faults, and what a debugger sees."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "ir"))

import numpy as np
from tree_builder import saxpy

from lend.lower.plain_python import plain_function


class Fault(Exception):
    """What the callback was given."""


def fault(site, dimension, index, size, thread):
    return Fault(site.kind, site.array, thread, dimension, index, size)


def plain(kernel):
    function = plain_function(kernel, kernel.span.source)
    return lambda dims, leaves: function(dims, leaves, fault)


def test_saxpy():
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    assert plain(saxpy())((4,), [2.0, x, y]) == ()
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
