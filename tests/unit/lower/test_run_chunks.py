"""How launches are cut: seen through a `lend_parallel_for` of our own."""

import ctypes

import numpy as np
import pytest
from hand_built import Builder, lower, plan, t

from lend.language import abi
from lend.plan.regions import CHUNK_WORK, FINE
from lend.plan.sizes import Given, Sizes


class Recorder:
    """A kernel whose launches on the pool are written down, and run."""

    def __init__(self, kernel):
        from lend.targets.cpu.target import cpu

        self.launches, self.cut, self.results = [], None, []
        region_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        def parallel_for(region, env, iterations, chunk):
            self.launches.append((iterations, chunk))
            chunk = self.cut or chunk
            for begin in reversed(range(0, iterations, chunk)):
                region_type(region)(env, begin, min(begin + chunk, iterations))

        self._kept = parallel_for
        where = ctypes.cast(parallel_for, ctypes.c_void_p).value
        self.kernel, self.plan = kernel, plan(kernel)
        text = lower(self.plan).replace("declare void @lend_parallel_for(ptr, ptr, i64, i64)", "")
        text = text.replace("@lend_parallel_for", "@recorded")
        text += f"""
define void @recorded(ptr %a, ptr %b, i64 %c, i64 %d) {{
  call void inttoptr (i64 {where} to ptr)(ptr %a, ptr %b, i64 %c, i64 %d)
  ret void
}}
"""
        self.module = cpu().compile(text)
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self._call = entry(self.module.address("kernel"))

    def __call__(self, *words):
        """The launches of a call with these argument words."""
        block, results = np.array(words, np.int64), np.zeros(8, np.int64)
        fault = np.zeros(abi.FAULT_WORDS, np.int64)
        fault[abi.FAULT_THREAD] = abi.NO_FAULT
        self.launches.clear()
        assert self._call(block.ctypes.data, results.ctypes.data, fault.ctypes.data) == 0
        self.results = results.tolist()
        return list(self.launches)


def rows(reduces=False):
    """Each of n iterations runs a loop of m steps of cost 3 (2 in the loop, 1 for it)."""
    b = Builder()
    n, m = b.scalar("n", t.I64), b.scalar("m", t.I64)
    y = b.array("y", t.I64)
    one, zero = b.const(t.I64, 1), b.const(t.I64, 0)

    def body(i, *sums):
        total = b.for_(b.extent(m), [zero], lambda k, s: b.binary("add", b.binary("mul", s, one), one))
        if reduces:
            return b.binary("add", sums[0], total)
        b.store(y, b.index(0), value=total)
        return None

    b.grid([n], body, *([("add", [zero])] if reduces else []))
    return Recorder(b.kernel())


def words(n, m):
    """Argument words of `rows`, and the array that they point to, which must live on."""
    y = np.zeros(1, np.int64)
    return y, (n, m, y.ctypes.data, 1, 8)


@pytest.mark.parametrize(("n", "m"), [(1000, 10), (1000, 1000), (100, 10**6), (7, 10**7), (10**5, 0), (10**5, 30)])
def test_the_chunk_follows_the_length_of_inner_loops(n, m):
    kept, given = words(n, m)
    grain = -(-CHUNK_WORK // (2 + 3 * m))
    chunk = max(grain, -(-n // 64))
    if grain >= FINE:  # equal shares: a power of two of chunks
        number = 1 << (min(max(n // grain, 1), 64).bit_length() - 1)
        chunk = -(-n // number)
    assert rows()(*given) == ([(n, chunk)] if chunk < n else [])


def test_a_negative_or_huge_inner_loop_does_not_confuse_the_estimate():
    kept, given = words(0, 2**62)
    assert rows()(*given) == []
    kept, given = words(10**6, -(2**62))
    assert rows()(*given) == [(10**6, 31250)]


def test_chunks_of_a_reduction_are_whole_blocks():
    recorder = rows(reduces=True)
    for n, chunk in ((2048, None), (2049, 2048), (64 * 2048 + 1, 4096), (500_000, 8192)):
        kept, given = words(n, 10**3 if n < 5000 else 40)
        assert recorder(*given) == ([] if chunk is None else [(n, chunk)])


@pytest.mark.parametrize("reduces", [False, True])
def test_a_plan_says_into_how_many_pieces_a_launch_is_cut(reduces):
    recorder = rows(reduces)
    region, (n_value, m_value) = recorder.plan.regions[0], [p.value for p in recorder.kernel.parameters[:2]]

    def pieces(n, m):
        return Sizes(recorder.kernel, Given({n_value: n, m_value: m})).pieces(region)

    for m in (0, 1, 10, 500, 10**4):
        alone = region.alone(region.work.operations + region.work.loops[0][1].operations * m)
        assert pieces(0, m) == 0 and pieces(alone, m) == 1 and pieces(alone + 1, m) > 1
        for n in (1, 63, 64, 65, 127, 128, 2049, 10**4, alone, alone + 1, 2 * alone + 3, 10**5):
            if n * (m + 1) > 10**7:
                continue
            kept, given = words(n, m)
            launches = recorder(*given) or [(n, n)]
            assert [-(-total // chunk) for total, chunk in launches] == [pieces(n, m)], (n, m)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_any_chunking_that_is_made_of_blocks_gives_the_same_bits(dimensions):
    b = Builder()
    x = b.array("x", t.F64, dimensions, borrow=t.Borrow.REF)
    zero = b.const(t.F64, 0.0)
    box = [b.size(x, k) for k in range(dimensions)]
    total = b.grid(box, lambda *i: b.binary("add", i[-1], b.load(x, *i[:-1], checked=False)), ("add", [zero]))
    recorder = Recorder(b.kernel(total))
    values = np.random.default_rng(0).normal(size=(300_001,) if dimensions == 1 else (1001, 299))
    found = set()
    for recorder.cut in (None, 2048, 4096, 6144, 10_240, 51_200, 301_056):
        assert recorder(values.ctypes.data, *values.shape, *values.strides)
        found.add(recorder.results[0])
    assert len(found) == 1
