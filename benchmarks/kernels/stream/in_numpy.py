"""STREAM in NumPy."""

from __future__ import annotations

import numpy as np


def copy(a, c):
    c[:] = a


def mul(c, b, alpha):
    np.multiply(c, alpha, out=b)


def add(a, b, c):
    np.add(a, b, out=c)


def triad(b, c, a, alpha):
    np.multiply(c, alpha, out=a)
    np.add(a, b, out=a)


def dot(a, b):
    return a @ b
