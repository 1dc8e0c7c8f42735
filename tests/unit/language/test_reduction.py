"""The reduction tree against a second, array-wise statement of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lend.language.reduction import BLOCK, Accumulator, combine, identity, tree
from lend.language.types import BOOL_, COMPLEX64, F16, F32, F64, I8, I64, U8, U32

SIZES = (0, 1, 2, 63, 64, 65, 2047, 2048, 2049, 3 * 2048, 5 * 2048 + 77)


def by_arrays(ufunc, start, init, values):
    """The tree on whole arrays: lanes as columns, blocks as rows."""
    if not len(values):
        return init
    blocks = -(-len(values) // BLOCK)
    partials = []
    for block in range(blocks):
        chunk = values[block * BLOCK : (block + 1) * BLOCK]
        lanes = np.full(64, start, values.dtype)
        for first in range(0, len(chunk), 64):
            part = chunk[first : first + 64]
            lanes[: len(part)] = ufunc(lanes[: len(part)], part)
        while len(lanes) > 1:
            lanes = ufunc(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :])
        partials.append(lanes[0])
    while len(partials) > 1:
        odd = [partials[-1]] if len(partials) % 2 else []
        partials = [ufunc(a, b) for a, b in zip(partials[0::2], partials[1::2], strict=False)] + odd
    return ufunc(init, partials[0])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("type", "dtype"), [(F16, np.float16), (F32, np.float32), (F64, np.float64)], ids=str)
def test_a_sum_follows_the_tree_bit_by_bit(type, dtype, size):
    values = np.random.default_rng(size).standard_normal(size).astype(dtype)
    init = dtype(0.25)
    (ours,) = tree("add", (type,), (float(init),), ((v,) for v in values.tolist()))
    assert ours == float(by_arrays(np.add, dtype(-0.0), init, values))


def test_an_integer_product_wraps():
    assert tree("mul", (U32,), (3,), [(v,) for v in range(1, 30)]) == ((3 * math.factorial(29)) % 2**32,)


def test_a_sum_of_nothing_but_negative_zeros_is_negative_zero():
    (total,) = tree("add", (F64,), (-0.0,), [(-0.0,)] * 3000)
    assert math.copysign(1.0, total) == -1.0


@pytest.mark.parametrize("operator", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_without_iterations_the_result_is_the_start(operator):
    assert tree(operator, (I64,), (17,), []) == (17,)


@pytest.mark.parametrize(
    ("operator", "type", "value"),
    [
        ("add", F32, 0.5), ("add", I8, -3), ("add", COMPLEX64, 1 - 2j), ("mul", F64, -0.0), ("mul", U8, 9),
        ("mul", COMPLEX64, 1 + 1j),
        ("min", F64, math.inf), ("min", I8, 127), ("min", BOOL_, True), ("max", F64, -math.inf), ("max", U8, 0),
        ("max", BOOL_, False), ("and", U8, 0xA5), ("and", I8, -7), ("and", BOOL_, True), ("or", I8, -7),
        ("or", BOOL_, False), ("xor", U8, 0x5A),
    ],
)  # fmt: skip
def test_the_identity_changes_nothing(operator, type, value):
    (combined,) = combine(operator, (type,), (identity(operator, type),), (value,))
    assert repr(combined) == repr(value)


def test_of_equal_tuples_the_left_stays_and_ties_take_the_smallest_index():
    values = [(float(v), i) for i, v in enumerate([3, 1, 2, 1, 5, 1])]
    assert tree("min", (F64, I64), (math.inf, -1), values) == (1.0, 1)
    assert tree("max", (F64, I64), (-math.inf, -1), values) == (5.0, 4)


@pytest.mark.parametrize("operator", ["min", "max"])
def test_nan_wins_its_place(operator):
    values = [(1.0, 0), (math.nan, 1), (-5.0, 2), (math.nan, 3), (9.0, 4)]
    value, index = tree(operator, (F64, I64), (0.0, -1), values)
    assert math.isnan(value)
    assert index == (1 if operator == "min" else 3)


def test_an_accumulator_keeps_one_value_per_block():
    accumulator = Accumulator("add", (F64,), (0.0,))
    for _ in range(10 * BLOCK):
        accumulator.add(1.0)
    assert len(accumulator._partials) == 10
    assert accumulator.result() == (10.0 * BLOCK,)
