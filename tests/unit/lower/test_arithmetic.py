"""Compiled scalar operations equal the plain-Python ones to the bit, for every type and telling values."""

from __future__ import annotations

import numpy as np
import pytest
from scalar_harness import DTYPES, FLOATS, INTEGERS, Loops, assert_same, pair_up, python, values_of

from lend.language import arithmetic as reference
from lend.language.types import BOOL_, COMPLEX64, COMPLEX128, PART, SCALARS, ScalarType

ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod", "min", "max")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


def operators_of(type: ScalarType) -> tuple[str, ...]:
    if type is BOOL_:
        return ("and", "or", "xor", "min", "max", *COMPARE)
    if type.kind == "complex":
        return ("add", "sub", "mul", "div", "eq", "ne")
    if type.is_integer:
        return (*ARITHMETIC, *COMPARE, "and", "or", "xor", "shl", "shr", "pow")
    return (*ARITHMETIC, *COMPARE, "div")


def operands_of(type: ScalarType, operator: str) -> tuple[np.ndarray, np.ndarray]:
    a, b = pair_up(values_of(type), values_of(type))
    keep = np.ones(len(a), bool)
    if type.is_integer and operator in ("floordiv", "mod"):
        keep = b != 0
    if type.is_integer and operator in ("shl", "shr", "pow"):
        keep = b >= 0
    return a[keep], b[keep]


@pytest.fixture(scope="module")
def loops() -> Loops:
    made = Loops("strict")
    for type in SCALARS:
        for operator in operators_of(type):
            target = BOOL_ if operator in COMPARE else type
            made.add(f"{operator}.{type}", [type, type], target, lambda e, v, o=operator, t=type: e.binary(o, t, v[0], v[1]))
        for operator in unary_of(type):
            target = PART.get(type, type) if operator == "abs" else type
            made.add(f"{operator}.{type}", [type], target, lambda e, v, o=operator, t=type: e.unary(o, t, v[0]))
    return made


def unary_of(type: ScalarType) -> tuple[str, ...]:
    if type is BOOL_:
        return ("not", "invert")
    if type.kind == "complex":
        return ("neg", "abs")
    return ("neg", "abs", "invert") if type.is_integer else ("neg", "abs")


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_operator_of_a_type_equals_plain_python(loops: Loops, type: ScalarType) -> None:
    for operator in operators_of(type):
        a, b = operands_of(type, operator)
        function = reference.binary_function(operator, type)
        expected = [function(x, y) for x, y in zip(python(a), python(b), strict=True)]
        assert_same(loops.run(f"{operator}.{type}", a, b), expected, f"{type} {operator}")


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_unary_operator_of_a_type_equals_plain_python(loops: Loops, type: ScalarType) -> None:
    for operator in unary_of(type):
        a = values_of(type)
        expected = [reference.unary(operator, type, x) for x in python(a)]
        assert_same(loops.run(f"{operator}.{type}", a), expected, f"{type} {operator}")


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_floor_division_and_modulo_of_random_floats_equal_plain_python(loops: Loops, type: ScalarType) -> None:
    random = np.random.default_rng(1)
    a = (random.standard_normal(2000) * 100).astype(DTYPES[type])
    b = (random.standard_normal(2000) * 3).astype(DTYPES[type])
    for operator in ("floordiv", "mod"):
        function = reference.binary_function(operator, type)
        expected = [function(x, y) for x, y in zip(python(a), python(b), strict=True)]
        assert_same(loops.run(f"{operator}.{type}", a, b), expected, f"{type} {operator}")


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_division_equals_numpy(loops: Loops, type: ScalarType) -> None:
    a, b = operands_of(type, "floordiv")
    with np.errstate(all="ignore"):
        assert_same(loops.run(f"floordiv.{type}", a, b), python(a // b), f"{type} //")
        assert_same(loops.run(f"mod.{type}", a, b), python(a % b), f"{type} %")


def test_a_bool_that_is_neither_0_nor_1_in_memory_is_true(loops: Loops) -> None:
    strange = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    out = loops.run("not.bool_", strange)
    assert out.view(np.uint8).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
def test_complex_arithmetic_equals_numpy(loops: Loops, type: ScalarType) -> None:
    random = np.random.default_rng(2)
    a, b = ((random.standard_normal(999) + 1j * random.standard_normal(999)).astype(DTYPES[type]) for _ in range(2))
    for operator, numpy in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)):
        got, want = loops.run(f"{operator}.{type}", a, b), numpy(a, b)
        assert np.allclose(got, want, rtol=4 * np.finfo(DTYPES[type]).eps, atol=0), operator


@pytest.mark.parametrize("math", ["default", "fast"])
def test_default_and_fast_differ_from_strict_only_in_rounding(math: str) -> None:
    random = np.random.default_rng(3)
    a, b, c = (random.standard_normal(1000).astype(np.float32) for _ in range(3))
    made = Loops(math)
    from lend.language.types import F32

    made.add("fma", [F32] * 3, F32, lambda e, v: e.binary("add", F32, e.binary("mul", F32, v[0], v[1]), v[2]))
    exact = a.astype(np.float64) * b + c
    got = made.run("fma", a, b, c)
    assert np.abs(got - exact).max() <= 2.0**-22
    assert "fmuladd" in made.compiled.llvm or "fmul contract" in made.compiled.llvm or "reassoc" in made.compiled.llvm
