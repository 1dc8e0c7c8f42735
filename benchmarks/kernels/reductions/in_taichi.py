"""Reductions in Taichi; it has none with a place, so that one takes two passes."""

import taichi as ti

Array = ti.types.ndarray(dtype=ti.f64, ndim=1)
Array32 = ti.types.ndarray(dtype=ti.f32, ndim=1)


@ti.kernel
def sum(x: Array) -> ti.f64:
    s = ti.f64(0.0)
    for i in range(x.shape[0]):
        s += x[i]
    return s


@ti.kernel
def sum32(x: Array32) -> ti.f32:
    s = ti.f32(0.0)
    for i in range(x.shape[0]):
        s += x[i]
    return s


@ti.kernel
def _smallest(x: Array) -> ti.f64:
    m = x[0]
    for i in range(x.shape[0]):
        ti.atomic_min(m, x[i])
    return m


@ti.kernel
def _place(x: Array, value: ti.f64) -> ti.i64:
    place = ti.i64(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] == value:
            ti.atomic_min(place, ti.i64(i))
    return place


def min_location(x):
    value = _smallest(x)
    return value, _place(x, value)
