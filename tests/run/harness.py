"""Runs a kernel on many layouts, sizes and thread counts and compares it with a NumPy reference.

Does: place arguments in memory with sentinel bytes all around, call, and look at everything that may have changed: the arrays,
the bytes between and beside their elements, the results, the bits under another thread count, and `kernel.py`.
Does not: know what a kernel computes; the reference does, on arrays of its own, in place and by return value as the kernel.

An array that the reference leaves alone must come back with the same bits, so a `Ref` is checked without looking at annotations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import lend

SENTINEL = 0xFB
MARGIN = 128

LAYOUTS = ("C", "F", "strided", "reversed", "unaligned", "mixed", "mixed-other")
"""Of all arrays of a call alike, but for the last two, which give each array the next layout of `MIXES`."""
MIXES = {
    "mixed": ("C", "strided", "F", "unaligned", "reversed", "gapped"),
    "mixed-other": ("reversed", "gapped", "unaligned", "F", "C", "strided"),
}
CONTIGUOUS = ("C",)

IN_PLACE = os.environ.get("LEND_DEVICE", "cpu") == "cpu"
"""Whether kernels work on the arrays of the host: then what they have written before a fault is there. From a device it does not
come back. `LEND_DEVICE=opencl:0 pytest tests/run` runs the tests there."""

RELATIVE = {"f2": 4e-3, "V2": 4e-2, "f4": 4e-6, "f8": 1e-12, "c8": 1e-5, "c16": 1e-12}
"""Default tolerances by kind and size of the element (`V2` is bfloat16), for results that need not be exact."""


# ------------------------------------------------------------------------------------------------ placing arrays


@dataclass(frozen=True)
class Placed:
    """An array inside a larger buffer whose other bytes are sentinels."""

    view: np.ndarray
    buffer: np.ndarray  # of bytes
    outside: np.ndarray  # which of them belong to no element

    def assert_intact(self) -> None:
        """Fail if a byte outside the elements has changed."""
        changed = np.flatnonzero(self.outside & (self.buffer != SENTINEL))
        assert changed.size == 0, f"{changed.size} bytes outside the array were written, the first at {changed[0]} of the buffer"


def row_major(shape: Sequence[int], pitch: int) -> list[int]:
    """Byte strides of a row-major array whose elements are `pitch` bytes apart."""
    strides = [pitch] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return strides


def strides_of(shape: Sequence[int], itemsize: int, layout: str) -> list[int]:
    """Byte strides of an array of that shape in that layout."""
    match layout:
        case "C":
            return row_major(shape, itemsize)
        case "F":
            return row_major(shape[::-1], itemsize)[::-1]
        case "strided":  # every second element in every dimension
            return [2 * stride for stride in row_major([2 * size for size in shape], itemsize)]
        case "reversed":
            return [-stride for stride in row_major(shape, itemsize)]
        case "gapped":  # rows with elements side by side and a gap after each
            return row_major([*shape[:-1], shape[-1] + 3], itemsize)
        case "unaligned":  # a field of a packed record
            return row_major(shape, itemsize + 3)
    raise ValueError(layout)


def place(array: np.ndarray, layout: str) -> Placed:
    """A copy of `array` in the layout, in a buffer of its own."""
    item, shape = array.itemsize, array.shape
    strides = strides_of(shape, item, layout)
    low = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if stride < 0 and size)
    high = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if stride > 0 and size) + item
    raw = np.full(high - low + 2 * MARGIN + 64, SENTINEL, np.uint8)
    start = -raw.ctypes.data % 64  # of a 64-byte line
    offset = start + MARGIN - low + (1 if layout == "unaligned" else max(array.dtype.alignment, 1))
    outside = np.ones(raw.size, bool)
    inside = np.ndarray((*shape, item), np.uint8, outside.view(np.uint8), offset, (*strides, 1))
    inside[...] = 0
    view = np.ndarray(shape, array.dtype, raw, offset, strides)
    view[...] = array
    return Placed(view, raw, outside)


def place_all(arguments: Sequence[Any], layout: str) -> tuple[list[Any], list[Placed]]:
    """The arguments with every array (in tuples too) placed, and all placed arrays in order."""
    placed: list[Placed] = []
    numbers = count()

    def one(argument: Any) -> Any:
        if isinstance(argument, tuple) and not hasattr(argument, "_fields"):
            return tuple(one(item) for item in argument)
        if not isinstance(argument, np.ndarray):
            return argument
        mix = MIXES.get(layout, (layout,))
        placed.append(place(argument, mix[next(numbers) % len(mix)]))
        return placed[-1].view

    return [one(argument) for argument in arguments], placed


def arrays_of(arguments: Sequence[Any]) -> list[np.ndarray]:
    """All arrays among the arguments, those in tuples too, in order."""
    out: list[np.ndarray] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            out += arrays_of(argument)
        elif isinstance(argument, np.ndarray):
            out.append(argument)
    return out


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments with row-major copies of all arrays."""

    def one(argument: Any) -> Any:
        if isinstance(argument, tuple) and not hasattr(argument, "_fields"):
            return tuple(one(item) for item in argument)
        return argument.copy(order="C") if isinstance(argument, np.ndarray) else argument

    return [one(argument) for argument in arguments]


# ----------------------------------------------------------------------------------------------------- comparing


def bits(value: Any) -> Any:
    """What is equal for two results only if they have the same type and bits."""
    if isinstance(value, tuple):
        return tuple(bits(item) for item in value)
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype == object:  # a record
        return tuple((name, bits(getattr(value, name))) for name in type(value).__annotations__)
    return (array.dtype.str, array.shape, array.tobytes())


def tolerance(dtype: np.dtype) -> float:
    """The default relative tolerance; 0 for integers and bools."""
    return RELATIVE.get(f"{dtype.kind}{dtype.itemsize}", 0.0)


def assert_same(actual: Any, expected: Any, rtol: float | None, atol: float, what: str) -> None:
    """Arrays, numbers, records and tuples of them agree; `rtol` None means the element type's own, 0 means exactly."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple), f"{what}: {actual!r} instead of a tuple"
        assert len(actual) == len(expected), f"{what}: {len(actual)} results instead of {len(expected)}"
        for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
            assert_same(one, other, rtol, atol, f"{what}[{number}]")
        return
    if expected is None:
        assert actual is None, f"{what}: {actual!r} instead of None"
        return
    got, wanted = np.asarray(actual), np.asarray(expected)
    if isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray), f"{what}: {type(actual)} instead of an array"
        assert got.dtype == wanted.dtype, f"{what}: {got.dtype} instead of {wanted.dtype}"
    assert got.shape == wanted.shape, f"{what}: shape {got.shape} instead of {wanted.shape}"
    if wanted.dtype.names:
        for name in wanted.dtype.names:
            assert_same(got[name], wanted[name], rtol, atol, f"{what}.{name}")
        return
    relative = tolerance(wanted.dtype) if rtol is None else rtol
    if relative == 0 and atol == 0:
        np.testing.assert_array_equal(got, wanted, err_msg=what)
        return
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted, err_msg=what)
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(got.astype(wide), wanted.astype(wide), rtol=relative, atol=atol, err_msg=what)


# ------------------------------------------------------------------------------------------------------- running


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Parallel loops run on `number` threads inside the block."""
    before = lend.config.threads
    lend.config.threads = number
    try:
        yield
    finally:
        lend.config.threads = before


def on(kernel: Any, target: str) -> Callable[..., Any]:
    """The kernel, called on a target."""
    return kernel if target == "cpu" else kernel.on(target)


def check(
    kernel: Any,
    reference: Callable[..., Any],
    arguments: Callable[[np.random.Generator, int], Sequence[Any]],
    *,
    target: str = "cpu",
    sizes: Sequence[int] = (0, 1, 17, 5000),
    layouts: Sequence[str] = LAYOUTS,
    rtol: float | None = None,
    atol: float = 0.0,
    strict: bool = False,
    python_up_to: int = 17,
    result: Callable[[Any], Any] = lambda value: value,
    thread_counts: Sequence[int] = (1, 3),
) -> None:
    """The kernel agrees with the reference for each size and layout, with the same bits on each number of threads.

    `arguments(rng, n)` gives the arguments, arrays in row-major order; the same ones go to the reference. `rtol` 0 asks for equal
    values; `strict` asks that `kernel.py` has the bits of the compiled kernel. `result` makes a returned value comparable.
    `kernel.py` runs for sizes up to `python_up_to`.
    """
    run = on(kernel, target)
    for size in sizes:
        given = arguments(np.random.default_rng(size + 1), size)
        originals = arrays_of(copies(given))
        wanted = copies(given)
        with np.errstate(all="ignore"):
            wanted_result = reference(*wanted)
        for layout in _distinct(layouts, originals):
            what = f"{kernel.__name__} on {target}, size {size}, layout {layout}"
            seen: list[tuple[Any, list[bytes]]] = []
            for number in thread_counts:
                lent, placed = place_all(given, layout)
                with threads(number):
                    value = run(*lent)
                label = f"{what}, {number} threads"
                _judge(value, placed, (wanted_result, arrays_of(wanted), originals), rtol, atol, result, label)
                seen.append((bits(value), [item.buffer[~item.outside].tobytes() for item in placed]))
            for number, other in zip(thread_counts[1:], seen[1:], strict=True):
                assert seen[0] == other, f"{what}: other bits on {number} threads than on {thread_counts[0]}"
            if size <= python_up_to and layout in ("C", "mixed") and target == "cpu":
                lent, placed = place_all(given, layout)
                value = kernel.py(*lent)
                label = f"{what}, kernel.py"
                _judge(value, placed, (wanted_result, arrays_of(wanted), originals), rtol, atol, result, label)
                if strict:
                    again = (bits(value), [item.buffer[~item.outside].tobytes() for item in placed])
                    assert again == seen[0], f"{label}: other bits than compiled"


def _bytes(array: np.ndarray) -> bytes:
    """The bytes of the elements, without those between the fields of records, which copies leave open."""
    if array.dtype.names:
        return b"".join(_bytes(array[name]) for name in array.dtype.names)
    return np.ascontiguousarray(array).tobytes()


def _judge(
    value: Any,
    placed: list[Placed],
    wanted: tuple[Any, list[np.ndarray], list[np.ndarray]],
    rtol: float | None,
    atol: float,
    result: Callable[[Any], Any],
    label: str,
) -> None:
    wanted_result, wanted_arrays, originals = wanted
    for number, (item, expected, original) in enumerate(zip(placed, wanted_arrays, originals, strict=True)):
        item.assert_intact()
        if _bytes(expected) == _bytes(original):
            same = _bytes(item.view) == _bytes(original)
            assert same, f"{label}: array {number} changed, which the reference leaves alone"
        else:
            assert_same(item.view, expected, rtol, atol, f"{label}, array {number}")
    assert_same(result(value), wanted_result, rtol, atol, f"{label}, result")


def _distinct(layouts: Sequence[str], arrays: Sequence[np.ndarray]) -> list[str]:
    """Without F where no array has two dimensions, and without mixes of a single array."""
    flat = all(array.ndim < 2 for array in arrays)
    return [
        layout
        for layout in layouts
        if not (layout == "F" and flat) and not (layout.startswith("mixed") and len(arrays) < 2) and (arrays or layout == "C")
    ]


def line_of(file: str, marker: str) -> int:
    """The number of the one line of a file that ends with the comment `# <marker>`."""
    lines = Path(file).read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {marker}")]
    assert len(found) == 1, f"{len(found)} lines are marked {marker!r}"
    return found[0]
