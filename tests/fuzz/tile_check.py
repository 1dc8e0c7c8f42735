"""Tiled kernels against plain Python, in memory between pages that no one may touch.

Does: make arguments for the parameters of a generated program, run it tiled at random and as plain Python, compare to the bit.
Does not: generate.
"""

from __future__ import annotations

import ctypes
import mmap
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from math import prod
from typing import Any
from unittest import mock

import numpy as np
from choices import Choices, seeded
from forced import forced_tilings
from oracle import Finding, Refused, compare, define, judged, reduced
from oracle import Run as Outcome
from tile_source import TiledKernels
from values import array_of

import lend
from lend.targets.cpu.machine import host, named
from lend.targets.cpu.target import Target

RUNS_OLDER = host().architecture == "x86_64" and "+avx2" in host().features and "+fma" in host().features
SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17)
LONG = (31, 32, 33, 63, 64, 65, 127, 129, 200, 300)
LAYOUTS = ("C", "C", "C", "C", "F", "strided", "reversed", "unaligned")
SENTINEL = 0xFB
MOST_ELEMENTS = 50_000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def program(choices: Choices) -> tuple[str, dict[str, int]]:
    """A program, and sizes of its dimensions."""
    kernels = TiledKernels(choices)
    source = kernels.program()
    long = kernels.dimensions == 1 or choices.chance(15)
    sizes = {dim: choices.pick(SMALL) for dim in ("N", "M", "K")}
    if kernels.dimensions == 3:
        sizes = {dim: min(size, 9) for dim, size in sizes.items()}
    if long:
        sizes["N"] = choices.pick(LONG)
        sizes["M"] = min(sizes["M"], 5)
    while max((prod(shape) for _, shape in shapes(source, sizes)), default=0) > MOST_ELEMENTS:
        largest = max(sizes, key=lambda dim: sizes[dim])
        sizes[largest] -= sizes[largest] // 3
    return source, sizes


def shapes(source: str, sizes: dict[str, int]) -> list[tuple[str, list[int]]]:
    """The element type and the shape of each array of the kernel."""
    every = {**sizes, **{f"{dim}2": 2 * size for dim, size in sizes.items()}}
    found = re.findall(r"x\d+: \w+\[(\w+(?:\[\w+\])?), ([\w, ]+)\]", header_of(source))
    return [(type, [every[dim] for dim in dims.split(", ")]) for type, dims in found]


def header_of(source: str) -> str:
    return source[source.index("def kernel(") :].split("\n", 1)[0]


def guarded(array: np.ndarray, layout: str, end: bool) -> tuple[np.ndarray, Any]:
    """A copy in some layout whose last byte (or first) touches a page without access; and what tells whether gaps are intact."""
    item = array.itemsize
    gap = {"strided": item, "unaligned": 3}.get(layout, 0)
    shape = list(array.shape)
    order = range(len(shape)) if layout == "F" else reversed(range(len(shape)))
    strides, pitch = [0] * len(shape), item + gap
    for d in order:
        strides[d] = pitch
        pitch *= max(shape[d], 1)
    total = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) + item if array.size else 0
    body = max(1, -(-(total + 1) // mmap.PAGESIZE)) * mmap.PAGESIZE
    memory = mmap.mmap(-1, body + 2 * mmap.PAGESIZE)
    raw = np.frombuffer(memory, np.uint8)
    for page in (0, mmap.PAGESIZE + body):
        if _libc.mprotect(raw.ctypes.data + page, mmap.PAGESIZE, 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    inside = raw[mmap.PAGESIZE : mmap.PAGESIZE + body]
    inside[...] = SENTINEL
    start = body - total if end else 0
    if layout == "unaligned" and array.dtype.alignment > 1 and (inside.ctypes.data + start) % array.dtype.alignment == 0:
        start += -1 if end else 1
    view = np.ndarray(shape, array.dtype, inside, start, strides)
    owned = np.zeros(body, bool)
    np.ndarray((*shape, item), bool, owned, start, (*strides, 1))[...] = True
    if layout == "reversed":
        view = view[tuple(slice(None, None, -1) for _ in shape)]
    view[...] = array

    def intact() -> bool:
        return bool((inside[~owned] == SENTINEL).all())

    return view, intact


def arguments(names: dict[str, Any], source: str, sizes: dict[str, int], seed: int) -> list[Any]:
    """Arrays by the annotations of the kernel, and its scalars."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for number, (type, shape) in enumerate(shapes(source, sizes)):
        count = prod(shape)
        if type.startswith("Index"):
            array: np.ndarray = rng.integers(0, max(sizes[type[6:-1]], 1), count)
        elif type.startswith("Unique"):
            array = rng.permutation(sizes[type[7:-1]])
        elif type == "P":
            array = np.zeros(count, names["P"].dtype)
            for field, kind in (("x", "f64"), ("n", "i32"), ("ok", "bool_"), ("h", "f32"), ("c", "u8")):
                values = array_of(kind, count, seed + number, tame=True)
                array[field] = values != 0 if kind == "bool_" else values
        else:
            array = array_of(type, count, seed + number, tame=bool(rng.random() < 0.7))
            if type == "bool_":
                array = array.view(np.uint8) != 0
        found.append(array.reshape(shape))
    scalars = [int(rng.integers(-3, 12)), float(rng.choice([0.0, 1.5, -2.25, np.nan, 1e9]))]
    return [*found, *scalars, int(rng.integers(-3, 9)), int(rng.integers(0, 256)), float(np.float32(rng.standard_normal()))]


def valid(source: str, sizes: dict[str, int]) -> bool:
    """Whether index arrays can be filled: no index lies in a dimension of no elements."""
    for bound, dims in re.findall(r"Ref\[Index\[(\w)\], ([\w, ]+)\]", header_of(source)):
        if sizes[bound] == 0 and sizes[dims.rstrip("2")] > 0:
            return False
    return True


def run(function: Any, given: Sequence[Any], layouts: Sequence[tuple[str, bool]], what: str) -> Outcome:
    """Call with guarded copies of the arrays."""
    placed: list[Any] = []
    checks: list[Any] = []
    for number, argument in enumerate(given):
        if isinstance(argument, np.ndarray):
            layout, end = layouts[number]
            argument, intact = guarded(argument, layout, end)
            checks.append(intact)
        placed.append(argument)
    arrays = [argument for argument in placed if isinstance(argument, np.ndarray)]
    result = judged(lambda: function(*placed), what)
    if not all(intact() for intact in checks):
        raise Finding("bytes outside an array were written", what)
    return Outcome(arrays, result, None)


@contextmanager
def small_machine(choices: Choices) -> Iterator[None]:
    """Chunks of little work, so that small boxes are cut and shared among threads too; now and then caches of no bytes (level 0),
    so that stores stream and tiles go panel by panel; now and then the code of an older processor."""
    work = choices.pick((8, 300, 32768))
    core, last = choices.pick(((2, 3), (0, 3), (0, 0)))
    with ExitStack() as stack:
        for module in ("lend.plan.regions", "lend.lower.chunks"):
            stack.enter_context(mock.patch(f"{module}.CHUNK_WORK", work))
        stack.enter_context(mock.patch("lend.lower.host.CORE_CACHE", core, create=True))
        stack.enter_context(mock.patch("lend.lower.host.LAST_CACHE", last))
        stack.enter_context(mock.patch("lend.lower.tiles.loops.SHORTEST_RUN", choices.pick((64, 256))))
        older = Target("cpu", named(choices.pick(("x86-64-v3", "x86-64-v2"))))
        if RUNS_OLDER and choices.chance(40):
            stack.enter_context(mock.patch("lend.targets.cpu.target.cpu", lambda processor=None: older))
        yield


def check(source: str, sizes: dict[str, int], seed: int, used: Any = None) -> str:
    """ "accepted" or "refused". Raises Finding where tiled code and plain Python disagree."""
    choices = seeded(f"layouts {seed}")
    before = lend.config.threads, lend.config.verify
    lend.config.verify = True
    try:
        names = judged(lambda: define(source), "at definition")
        given = arguments(names, source, sizes, seed)
        if not valid(source, sizes):
            return "no arguments"
        common = choices.pick(LAYOUTS)
        layouts = [(common if choices.chance(70) else choices.pick(LAYOUTS), choices.chance(60)) for _ in range(len(given))]
        runs: list[Outcome] = []
        tilings = nullcontext(Counter[str]()) if choices.chance(15) else forced_tilings(seed)
        with tilings as tiled, small_machine(choices):
            for threads in (1, 3):
                lend.config.threads = threads
                runs.append(run(names["kernel"], given, layouts, f"compiled, {threads} threads"))
        if used is not None:
            used.update(tiled)
        compare(runs[0], run(names["kernel"].py, given, [("C", True)] * len(given), "in plain Python"), "tiled and plain Python")
        compare(runs[1], runs[0], "on 3 threads and on 1")
    except Refused:
        return "refused"
    finally:
        lend.config.threads, lend.config.verify = before
    return "accepted"


def reduced_program(source: str, sizes: dict[str, int], seed: int, finding: Finding, steps: int = 100) -> str:
    """A program with what does not matter for its finding taken away."""
    last = [str(finding)]

    def fails(text: str) -> bool:
        try:
            check(text, sizes, seed)
        except Finding as found:
            if found.kind == finding.kind:
                last.append(str(found))
                return True
        except Exception:
            return False
        return False

    text = reduced(source, fails, steps)
    return f"{text[text.index('class P:') :]}sizes {sizes}: {last[-1]}"
