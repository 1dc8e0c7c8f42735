"""Arrays of edge and random values for every scalar type, and how results are compared."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, Any] = {
    "i64": np.int64, "f64": np.float64, "i32": np.int32, "f32": np.float32, "bool_": np.bool_, "i8": np.int8, "i16": np.int16,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "complex64": np.complex64, "complex128": np.complex128,
}  # fmt: skip
SIGNED = ("i64", "i32", "i8", "i16")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("f64", "f32", "f16", "bf16")
COMPLEX = ("complex128", "complex64")
TYPES = (*INTEGERS, *FLOATS, *COMPLEX, "bool_")
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
PARTS = {"complex64": "f32", "complex128": "f64"}


def limits(type: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = BITS[type]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type in SIGNED else (0, (1 << bits) - 1)


FLOAT_EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1.5, 2.5, np.inf, -np.inf, np.nan, 0.1, -0.7, 3.25, 100.0, 1e-3, 65504.0, 65520.0,
    2.0**31, -(2.0**31) - 1, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64,
    127.5, 128.0, 255.9, -128.5, 32768.0, 1e30, -1e30, 3.4e38, 1e-45,
    1e-40, 6e-8, 1.7e308, 5e-324, 2.2e-308, 709.5, -745.0, 88.5, 0.9999999999999999, 1.0000001, np.pi, np.pi / 2, 170.6, 20.0,
]  # fmt: skip


def edges(type: str) -> np.ndarray:
    """Values at which operations of a type tend to go wrong."""
    if type == "bool_":
        return np.array([0, 1, 2, 255, 128], np.uint8).view(np.bool_)
    if type in INTEGERS:
        low, high = limits(type)
        numbers = [
            0,
            1,
            2,
            3,
            7,
            10,
            BITS[type] - 1,
            BITS[type],
            high,
            high - 1,
            low,
            low + 1,
            high // 2,
            high // 2 + 1,
            -1,
            -2,
            -7,
            -128,
        ]
        return np.array([n for n in numbers if low <= n <= high], DTYPES[type])
    with np.errstate(all="ignore"):
        if type in FLOATS:
            return np.array(FLOAT_EDGES).astype(DTYPES[type])
        parts = edges(PARTS[type])
        return (parts + 1j * np.roll(parts, 5)).astype(DTYPES[type])


def array_of(type: str, size: int, seed: int, *, tame: bool = False) -> np.ndarray:
    """`size` values, half of them edges; `tame`: small numbers, among them few edges."""
    rng = np.random.default_rng([seed, size, TYPES.index(type)])
    edge = edges(type)
    with np.errstate(all="ignore"):
        if type == "bool_":
            usual = rng.integers(0, 2, size).astype(np.bool_)
        elif type in INTEGERS:
            low, high = limits(type)
            usual = rng.integers(max(low, -20), 40, size).astype(DTYPES[type])
            if not tame:
                wide = rng.integers(low, high, size, endpoint=True, dtype=DTYPES[type])
                usual = np.where(rng.random(size) < 0.4, wide, usual)
        else:
            real = rng.standard_normal(size) * 10.0 ** rng.integers(-1, 2 if tame else 4, size)
            real = np.where(rng.random(size) < 0.3, np.round(real), real)
            if type in COMPLEX:
                real = real + 1j * rng.standard_normal(size)
            usual = real.astype(DTYPES[type])
        take = rng.random(size) < (0.03 if tame else 0.5)
        if type == "bool_":
            raw = np.where(take, edge.view(np.uint8)[rng.integers(0, len(edge), size)], usual.view(np.uint8))
            return raw.astype(np.uint8).view(np.bool_)
        return np.where(take, edge[rng.integers(0, len(edge), size)], usual).astype(DTYPES[type])


def canonical(array: np.ndarray) -> np.ndarray:
    """The bits of an array, all NaN made equal."""
    array = np.ascontiguousarray(array)
    if array.dtype.names:
        return np.stack([canonical(array[name]).astype(np.uint64) for name in array.dtype.names], -1)
    if array.dtype.kind == "c":
        parts = array.view(np.float32 if array.itemsize == 8 else np.float64)
        return canonical(parts).reshape(*array.shape, 2)
    bits = array.view(f"u{array.itemsize}").copy()
    if array.dtype.kind == "f" or array.dtype == DTYPES["bf16"]:
        with np.errstate(all="ignore"):
            bits[np.isnan(array.astype(np.float64))] = 0x7E57 if array.itemsize == 2 else 0x7FC07E57
    return bits


def differing(a: np.ndarray, b: np.ndarray, ulps: float = 0.0) -> np.ndarray:
    """Where two arrays of one type differ: in bits, or for complex ones by more than so many units of the larger part."""
    unequal = canonical(a) != canonical(b)
    if unequal.ndim > a.ndim:
        unequal = unequal.any(-1)
    if ulps and a.dtype.kind == "c":
        with np.errstate(all="ignore"):
            large = np.maximum(np.abs(b.real), np.abs(b.imag))
            info = np.finfo(a.dtype)
            near = np.abs(a - b) <= ulps * (info.eps * large + info.smallest_subnormal)
            # beyond the finite numbers, C leaves much open
            unequal &= ~near & np.isfinite(b) & np.isfinite(a)
    return unequal
