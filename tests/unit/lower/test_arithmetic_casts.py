"""Compiled casts equal the plain-Python ones to the bit; every cast to a float type rounds once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from scalar_harness import DTYPES, FLOATS, INTEGERS, Loops, assert_same, float_values, python, values_of

from lend.language import arithmetic as reference
from lend.language.types import BF16, F16, F32, F64, I64, SCALARS, U64, ScalarType


@pytest.fixture(scope="module")
def loops() -> Loops:
    made = Loops("strict")
    for source in SCALARS:
        for target in SCALARS:
            if source.kind != "complex" or target.kind in ("complex", "bool"):
                made.add(f"{source}.{target}", [source], target, lambda e, v, s=source, t=target: e.cast(s, t, v[0]))
    return made


@pytest.mark.parametrize("target", SCALARS, ids=str)
def test_every_cast_to_a_type_equals_plain_python(loops: Loops, target: ScalarType) -> None:
    for source in SCALARS:
        if source.kind == "complex" and target.kind not in ("complex", "bool"):
            continue
        a = values_of(source)
        expected = [reference.cast(target, x) for x in python(a)]
        assert_same(loops.run(f"{source}.{target}", a), expected, f"{source} -> {target}")


@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_a_float_beyond_an_integer_type_saturates_and_nan_gives_0(loops: Loops, target: ScalarType) -> None:
    a = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, -0.9, 0.9])
    assert loops.run(f"f64.{target}", a).tolist() == [target.maximum, target.minimum, 0, target.maximum, target.minimum, 0, 0]
    near = np.array([float(target.maximum), float(target.minimum)])
    for source in (F32, F64):
        beside = np.concatenate([np.nextafter(near.astype(DTYPES[source]), side) for side in (-np.inf, np.inf)])
        expected = [reference.cast(target, x) for x in python(beside)]
        assert_same(loops.run(f"{source}.{target}", beside), expected, f"{source} -> {target}")


def test_every_f16_and_bf16_survives_memory_and_widening(loops: Loops) -> None:
    for type in (F16, BF16):
        every = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[type])
        assert_same(loops.run(f"{type}.f32", every), every.astype(np.float32).tolist(), f"{type} -> f32")
        back = loops.run(f"f32.{type}", every.astype(np.float32))
        numbers = ~np.isnan(every.astype(np.float32))
        assert (back.view(np.uint16) == every.view(np.uint16))[numbers].all()
        assert np.isnan(back[~numbers].astype(np.float32)).all()


@pytest.mark.parametrize("target", [F16, BF16], ids=str)
def test_f32_to_a_narrow_type_rounds_to_nearest_even(loops: Loops, target: ScalarType) -> None:
    bits = np.random.default_rng(4).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    ties = np.concatenate([(bits & 0xFFFF0000) | 0x8000, (bits & 0xFFFFE000) | 0x1000, bits]).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert_same(loops.run(f"f32.{target}", ties), ties.astype(DTYPES[target]).astype(np.float64).tolist(), f"f32 -> {target}")


@pytest.mark.parametrize("target", [F16, BF16], ids=str)
def test_f64_to_a_narrow_type_rounds_once(loops: Loops, target: ScalarType) -> None:
    # Halfway between two neighbours in the narrow type, plus or minus so little that f32 cannot hold it.
    values = float_values(target).astype(np.float64)
    values = np.sort(values[np.isfinite(values) & (values > 0)])
    above = np.array([np.nextafter(DTYPES[target](v), DTYPES[target](np.inf)) for v in values]).astype(np.float64)
    middle = ((values + above) / 2)[np.isfinite(above)]
    tricky = np.concatenate([middle * (1 + s * 2.0**-50) for s in (-1, 0, 1)])
    expected = [reference.cast(target, x) for x in python(tricky)]
    assert_same(loops.run(f"f64.{target}", tricky), expected, f"f64 -> {target}")
    if target is F16:
        assert_same(loops.run("f64.f16", tricky), tricky.astype(np.float16).tolist(), "f64 -> f16 against NumPy")


@pytest.mark.parametrize("source", [I64, U64], ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_large_integers_round_once(loops: Loops, source: ScalarType, target: ScalarType) -> None:
    random = np.random.default_rng(5)
    shifts = random.integers(0, 63, 5000)
    a = random.integers(0, 1 << 63, 5000, dtype=np.uint64) >> shifts.astype(np.uint64)
    a = np.concatenate([a, (np.uint64(257) << np.uint64(40)) + np.arange(-2, 3).astype(np.uint64)])
    expected = [reference.cast(target, x) for x in python(a)]
    assert_same(loops.run(f"{source}.{target}", a), expected, f"{source} -> {target}")


def test_ml_dtypes_agrees_about_bf16() -> None:
    assert float(ml_dtypes.bfloat16(1.00390625)) == reference.cast(BF16, 1.00390625)
