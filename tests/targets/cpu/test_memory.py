"""The allocator: what is kept, used again, cleared, given back; several threads, forks, and the process's end."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.dims import N
from lend.targets.cpu.memory import ALLOCATE, memory
from lend.targets.cpu.memory_ir import HUGE, HUGE_PAGE, LARGE, SLOTS, memory_ir

LARGEST = 3 * HUGE


def allocate(bytes, zeroed=False):
    """The address of a block."""
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)(memory().addresses[ALLOCATE])
    return call(bytes, int(zeroed))


def content(address, bytes):
    """The bytes of a block."""
    return np.frombuffer((ctypes.c_char * bytes).from_address(address), np.uint8)


@pytest.fixture(autouse=True)
def nothing_kept():
    """Each test begins and ends with nothing kept, and the usual limit."""
    gc.collect()
    limit = memory().limit
    memory().trim()
    memory().limit = 1 << 28
    yield
    memory().limit = limit
    memory().trim()


@lend.kernel
def doubled(x: Ref[f64, N], y: Out[f64, N]):
    t = lend.empty(f64, N)
    for i in lend.grid(N):
        t[i] = x[i] + x[i]
    for i in lend.grid(N):
        y[i] = t[i]


@lend.kernel
def counted(n: i64, k: f64):
    t = lend.zeros(f64, n)
    for i in lend.grid(n):
        t[i] += k
    return t


@pytest.mark.parametrize("bytes", [0, 1, 100, LARGE - 1, LARGE, LARGE + 1, HUGE - 1, HUGE, HUGE + 12345])
def test_a_block_holds_what_was_asked_for_and_begins_with_zeros_if_they_were(bytes):
    for _ in range(2):  # the second time from what was kept
        block = allocate(bytes, zeroed=True)
        assert block % 64 == 0
        elements = content(block, bytes)
        assert not elements.any()
        elements[:] = 255
        memory().release(block)


def test_a_freed_block_is_used_again():
    first = allocate(HUGE)
    memory().release(first)
    kept = memory().kept
    assert kept >= HUGE
    assert allocate(HUGE - 4096) == first and memory().kept == 0
    memory().release(first)
    assert memory().kept == kept


def test_a_block_is_not_used_for_much_less():
    first = allocate(HUGE)
    memory().release(first)
    second = allocate(HUGE // 2)
    assert second != first and memory().kept >= HUGE
    memory().release(second)


def test_small_blocks_are_not_kept_here():
    memory().release(allocate(LARGE - 1))
    assert memory().kept == 0


def test_blocks_begin_at_different_distances_from_a_page():
    blocks = [allocate(HUGE) for _ in range(4)]
    assert len({block % 4096 for block in blocks}) == 4
    for block in blocks:
        assert block % HUGE_PAGE < 4096
        memory().release(block)


@pytest.mark.parametrize("limit", [0, LARGE, 3 * LARGE, 10 * LARGE])
def test_no_more_is_kept_than_the_limit(limit):
    memory().limit = limit
    sizes = [LARGE, LARGE + 70_000, 2 * LARGE, 5 * LARGE, LARGE]
    for _ in range(3):
        blocks = [allocate(size) for size in sizes]
        for block in blocks:
            memory().release(block)
            assert memory().kept <= limit
    assert bool(memory().kept) == (limit > LARGE)


def test_more_blocks_than_there_are_slots():
    blocks = [allocate(LARGE) for _ in range(2 * SLOTS)]
    assert len(set(blocks)) == 2 * SLOTS
    for block in blocks:
        memory().release(block)
    assert SLOTS * LARGE <= memory().kept <= SLOTS * (LARGE + 2 * 65536)
    memory().trim()
    assert memory().kept == 0


def test_a_smaller_limit_gives_back_at_once():
    memory().release(allocate(HUGE))
    memory().limit = HUGE // 2
    assert memory().kept == 0


def test_more_memory_than_there_is():
    block = allocate(HUGE)
    memory().release(block)
    assert allocate(1 << 62) is None and allocate((1 << 63) - 1) is None
    with pytest.raises(lend.DeviceMemoryError):
        counted(1 << 44, 1.0)


def test_temporaries_of_a_second_call_are_those_of_the_first():
    x, y = np.arange(float(LARGE)), np.zeros(LARGE)
    doubled(x, y)
    kept = memory().kept
    assert kept >= x.nbytes
    for _ in range(5):
        doubled(x, y)
        assert memory().kept == kept
    assert (y == 2 * x).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [10, LARGE // 8, LARGEST // 8 + 5])
def test_zeros_are_zeros_in_used_memory(n, threads):
    lend.config.threads = threads
    for k in range(4):
        y = counted(n, float(k))
        assert y.shape == (n,) and (y == k).all()
        y[:] = np.nan
        del y


def test_a_returned_array_keeps_its_memory_as_long_as_it_lives():
    arrays = [counted(LARGEST // 8, float(k)) for k in range(4)]
    assert memory().kept == 0
    views = [array[::-2] for array in arrays]
    del arrays
    x = np.ones(LARGEST // 8)
    doubled(x, np.zeros_like(x))
    assert all((view == k).all() for k, view in enumerate(views))
    before = memory().kept
    del views
    gc.collect()
    assert memory().kept >= before + 4 * LARGEST


def test_a_faulting_kernel_frees_its_temporaries():
    @lend.kernel
    def reaches(x: Ref[f64, N], y: Mut[f64, N], k: i64):
        t = lend.zeros(f64, N)
        for i in lend.grid(N):
            t[i] = 2.0 * x[i]
        y[0] = t[k]

    x = np.ones(LARGE)
    for _ in range(3):
        with pytest.raises(lend.BoundsError):
            reaches(x, np.zeros(LARGE), LARGE)
        assert x.nbytes <= memory().kept < 2 * x.nbytes


def test_partial_results_of_a_long_reduction_are_freed():
    @lend.kernel
    def total(x: Ref[f64, N]) -> f64:
        s = 0.0
        for i in lend.grid(N):
            s += x[i]
        return s

    x = np.broadcast_to(np.ones(1), 2048 * LARGE // 16 + 3)
    for _ in range(3):
        assert total(x) == x.size
        assert LARGE <= memory().kept <= LARGE + 2 * 65536


def resident():
    """The bytes of the process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("limit", [0, 1 << 20, 1 << 28])
def test_nothing_leaks(limit):
    """A leak of these temporaries or results would take 2 GB; a leak of one in a hundred would be seen."""
    memory().limit = limit
    x, y = np.ones(LARGE), np.zeros(LARGE)

    def calls(times):
        for k in range(times):
            doubled(x, y)
            assert counted(LARGE, float(k))[-1] == k

    calls(20)
    before = resident()
    calls(1000)
    assert resident() < before + (16 << 20)


def test_several_threads():
    memory().limit = 1 << 23
    wrong, sizes = [], (LARGE // 8, LARGE // 8 + 3000, LARGE // 2, LARGE, 1000)

    def work(number):
        for k in range(60):
            n = sizes[(k + number) % len(sizes)]
            x, y = np.full(n, float(number)), np.zeros(n)
            doubled(x, y)
            z = counted(n, float(number))
            if not ((y == 2 * number).all() and (z == number).all()):
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and memory().kept <= memory().limit


RACE = """
import ctypes, threading
from lend.targets.cpu.memory import ALLOCATE, memory
from lend.targets.cpu.memory_ir import LARGE

m = memory()
m.limit = 6 * LARGE
call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)(m.addresses[ALLOCATE])
wrong = []

def work(mark):
    for k in range(3000):
        size = LARGE + (k * 7919 + mark * 104729) % LARGE
        block = call(size, 0)
        first, last = (ctypes.c_uint64.from_address(block + at) for at in (0, size // 8 * 8 - 8))
        first.value = last.value = mark * 1000003 + k
        if k % 50 == 0:
            m.trim()
        if (first.value, last.value) != (mark * 1000003 + k,) * 2:
            wrong.append((mark, k))
        m.release(block)

threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong and 0 <= m.kept <= m.limit, (wrong[:3], m.kept)
m.trim()
assert m.kept == 0
"""


def run(text):
    """Run a program of its own, which must end well and in silence."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_threads_that_take_and_free_without_pause():
    run(RACE)


def test_a_child_goes_on_with_what_was_kept():
    x, y = np.arange(float(LARGE)), np.zeros(LARGE)
    held = counted(LARGE, 3.0)
    doubled(x, y)
    assert memory().kept >= x.nbytes
    pid = os.fork()
    if pid == 0:
        try:
            kept, z = memory().kept, np.zeros(LARGE)
            doubled(x, z)
            ok = (z == 2 * x).all() and memory().kept == kept and (counted(LARGE, 5.0) == 5).all() and (held == 3).all()
            held[:] = 0
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    doubled(x, y)
    assert (y == 2 * x).all() and (held == 3).all()


KEPT_TO_THE_END = """
import tempfile
import importlib.util
import numpy as np
text = '''
import lend
from lend import f64, i64
@lend.kernel
def counted(n: i64, k: f64):
    t = lend.zeros(f64, n)
    for i in lend.grid(n):
        t[i] += k
    return t
held = [counted(n, 1.0) for n in (10, 1 << 20)]
class Late:
    def __init__(self): self.array = counted(1 << 20, 2.0)
    def __del__(self): self.array[:] = 3.0
import sys
sys.late = Late()
'''
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/kernels.py"
    open(path, "w").write(text)
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
"""


def test_arrays_that_live_to_the_end_of_the_process():
    run(KEPT_TO_THE_END)


def test_a_system_without_mappings_has_the_same_functions():
    from lend.targets.cpu.emit import compile_module

    code = compile_module(memory_ir(None), quick=True)
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)(code.address("lend_allocate"))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("lend_free"))
    for bytes in (0, 5, LARGE, HUGE):
        block = take(bytes, 1)
        assert block % 64 == 0 and not content(block, bytes).any()
        free(block)
    assert take(-1, 0) is None


# ------------------------------------------------------------------------------------------------------ what is cleared


@lend.kernel
def promised(x: Ref[f64, N], y: Out[f64, N]):
    t = lend.empty(f64, N)
    for i in lend.grid(N):
        if x[i] > 0.0:
            t[i] = x[i]
    for i in lend.grid(N):
        with lend.unchecked("x is positive"):
            y[i] = t[i]


@lend.kernel
def filled(n: i64):
    t = lend.empty(f64, n)
    for i in lend.grid(n):
        t[i] = 1.0
    return t


CLEARED = [(doubled, [0]), (counted, [1]), (promised, [1]), (filled, [0])]


@pytest.mark.parametrize(("kernel", "zeroed"), CLEARED)
def test_what_need_not_be_cleared_is_not(kernel, zeroed):
    calls = [line for line in kernel.lower().ir.splitlines() if "call ptr @lend_allocate" in line]
    assert [int(line.rsplit("i32 ", 1)[1].rstrip(")")) for line in calls] == zeroed
