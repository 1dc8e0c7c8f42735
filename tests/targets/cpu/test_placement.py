"""Workers wake beside the launch, not on its processor; their affinity masks are their own again afterwards."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lend.targets.cpu.emit import CompiledModule, compile_module
from lend.targets.cpu.machine import host
from lend.targets.cpu.pool_layout import (
    ASLEEP,
    AWAKE,
    MOST_PLACED,
    PLACE_BYTES,
    PLACE_STATE,
    PLACE_THREAD,
    PLACED,
    PLACES,
    POOL_BYTES,
)
from lend.targets.cpu.threads import Pool, pool
from lend.targets.cpu.threads_ir import pool_ir

if not sys.platform.startswith("linux") or not hasattr(os, "sched_setaffinity"):
    pytest.skip("the pool is for Linux", allow_module_level=True)

PROCESSORS = sorted(os.sched_getaffinity(0))
several = pytest.mark.skipif(len(PROCESSORS) < 2, reason="needs two processors")

DOORS = """
define void @place_all(ptr %pool, i32 %last, i32 %helpers) {
  call void @lend.place.all(ptr %pool, i32 %last, i32 %helpers)
  ret void
}
define void @place_leave(ptr %pool, i64 %index) {
  %place = call ptr @lend.place.of(ptr %pool, i64 %index)
  call void @lend.place.leave(ptr %place)
  ret void
}
"""


@pytest.fixture(scope="module")
def doors() -> CompiledModule:
    return compile_module(pool_ir(host().architecture, True) + DOORS, quick=True)


class Places:
    """A pool's memory in which threads of Python stand for workers."""

    def __init__(self, module: CompiledModule) -> None:
        self.memory = np.zeros(POOL_BYTES, np.uint8)
        i32, i64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
        self._all = ctypes.CFUNCTYPE(None, pointer, i32, i32)(module.address("place_all"))
        self._leave = ctypes.CFUNCTYPE(None, pointer, i64)(module.address("place_leave"))

    def _word(self, index: int, offset: int) -> np.ndarray:
        at = PLACES + PLACE_BYTES * index + offset
        return self.memory[at : at + 4].view(np.int32)

    def state(self, index: int) -> int:
        return int(self._word(index, PLACE_STATE)[0])

    def sleeps(self, index: int, thread: int) -> None:
        self._word(index, PLACE_THREAD)[0] = thread
        self._word(index, PLACE_STATE)[0] = ASLEEP

    def wake(self, last: int, helpers: int) -> None:
        self._all(self.memory.ctypes.data, last, helpers)

    def wakes(self, index: int) -> None:
        self._leave(self.memory.ctypes.data, index)


class Sleeper:
    """A thread that does what it is given."""

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None
        self._asked, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.number = self._thread.native_id or 0

    def _run(self) -> None:
        while True:
            self._asked.acquire()
            if self._work is None:
                return
            self._work()
            self._done.release()

    def do(self, work: Callable[[], None]) -> None:
        self._work = work
        self._asked.release()
        assert self._done.acquire(timeout=30)

    def end(self) -> None:
        self._work = None
        self._asked.release()
        self._thread.join(30)

    @property
    def mask(self) -> set[int]:
        return os.sched_getaffinity(self.number)


@pytest.fixture
def places(doors: CompiledModule) -> Places:
    return Places(doors)


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    one = Sleeper()
    yield one
    one.end()


@pytest.fixture
def here() -> Iterator[int]:
    """The one processor that this thread runs on meanwhile."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {PROCESSORS[0]})
    yield PROCESSORS[0]
    os.sched_setaffinity(0, before)


@several
def test_who_sleeps_is_kept_off_the_processor_of_who_wakes_until_it_is_awake(places: Places, sleeper: Sleeper, here: int) -> None:
    places.sleeps(1, sleeper.number)
    places.wake(last=1, helpers=1)
    assert places.state(1) == PLACED
    assert sleeper.mask == set(PROCESSORS) - {here}
    sleeper.do(lambda: places.wakes(1))
    assert places.state(1) == AWAKE
    assert sleeper.mask == set(PROCESSORS)


@several
def test_who_was_not_woken_is_placed_anew_with_its_own_mask_in_mind(places: Places, sleeper: Sleeper, here: int) -> None:
    places.sleeps(1, sleeper.number)
    for processor in (here, PROCESSORS[1], here):
        os.sched_setaffinity(0, {processor})
        places.wake(last=1, helpers=1)
        assert sleeper.mask == set(PROCESSORS) - {processor}
    places.wake(last=1, helpers=len(PROCESSORS))
    assert sleeper.mask == set(PROCESSORS)
    sleeper.do(lambda: places.wakes(1))
    assert (places.state(1), sleeper.mask) == (AWAKE, set(PROCESSORS))


@several
@pytest.mark.parametrize("helpers", [len(PROCESSORS), MOST_PLACED])
def test_with_more_threads_than_processors_or_very_many_the_system_decides(
    places: Places, sleeper: Sleeper, here: int, helpers: int
) -> None:
    places.sleeps(1, sleeper.number)
    places.wake(last=1, helpers=helpers)
    assert (places.state(1), sleeper.mask) == (ASLEEP, set(PROCESSORS))


@several
def test_a_mask_without_that_processor_stays(places: Places, sleeper: Sleeper, here: int) -> None:
    other = PROCESSORS[1]
    sleeper.do(lambda: os.sched_setaffinity(0, {other}))
    places.sleeps(1, sleeper.number)
    places.wake(last=1, helpers=1)
    assert (places.state(1), sleeper.mask) == (ASLEEP, {other})


def test_a_thread_bound_to_the_only_processor_stays_there(places: Places, sleeper: Sleeper, here: int) -> None:
    sleeper.do(lambda: os.sched_setaffinity(0, {here}))
    places.sleeps(1, sleeper.number)
    places.wake(last=1, helpers=1)
    assert (places.state(1), sleeper.mask) == (ASLEEP, {here})


def test_only_sleepers_up_to_the_last_are_touched(places: Places, sleeper: Sleeper, here: int) -> None:
    places.wake(last=3, helpers=1)  # nobody there
    places.sleeps(2, sleeper.number)
    places.wake(last=1, helpers=1)
    assert (places.state(1), places.state(2), places.state(3)) == (AWAKE, ASLEEP, AWAKE)
    assert sleeper.mask == set(PROCESSORS)


def test_a_thread_that_is_no_more_is_let_be(places: Places, here: int) -> None:
    places.sleeps(1, 2**30)  # no thread has this number: the system refuses
    places.wake(last=1, helpers=1)
    assert places.state(1) == ASLEEP


REGIONS = """
declare void @lend_parallel_for(ptr, ptr, i64, i64)
define void @slow(ptr %env, i64 %begin, i64 %end) {
entry:
  %p = getelementptr i64, ptr %env, i64 %begin
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile i64, ptr %p
  %w = add i64 %v, 1
  store volatile i64 %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 5000
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @run(ptr %env) {
  call void @lend_parallel_for(ptr @slow, ptr %env, i64 64, i64 1)
  ret void
}
"""


def threads_of_process() -> set[int]:
    return {int(task) for task in os.listdir("/proc/self/task")}


@pytest.fixture
def threads() -> Iterator[Pool]:
    before, worth = pool().threads, pool().worth_ns
    pool().worth_ns = -1
    yield pool()
    pool().configure(before)
    pool().worth_ns = worth


@pytest.mark.parametrize("count", [2, 5])
def test_launches_after_pauses_are_right_and_leave_every_mask_as_it_was(threads: Pool, count: int) -> None:
    from lend.targets.cpu.target import cpu

    threads.configure(count)
    module = cpu().compile(REGIONS)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address("run"))
    counts = np.zeros(64, np.int64)
    for turn in range(40):
        run(counts.ctypes.data)
        time.sleep(0.001 * (turn % 4))  # longer than a worker spins, or not
    assert (counts == 40 * 5000).all()
    end = time.monotonic() + 30
    while any(os.sched_getaffinity(thread) != set(PROCESSORS) for thread in threads_of_process()):
        assert time.monotonic() < end, "a mask that is not the thread's own"
        time.sleep(0.01)  # a worker that was called too late has yet to look


BOUND = """
import ctypes, os, sys, time
processor = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {processor})  # before other libraries have threads
import numpy as np
from lend.targets.cpu.target import cpu
from lend.targets.cpu.threads import pool
pool().configure(3)
pool().worth_ns = -1
module = cpu().compile(sys.stdin.read())
run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address("run"))
counts = np.zeros(64, np.int64)
for _ in range(20):
    run(counts.ctypes.data)
    time.sleep(0.002)
    masks = [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")]
    assert len(masks) >= 3 and all(mask == {processor} for mask in masks), masks
assert (counts == 20 * 5000).all()
"""


def test_a_process_bound_to_one_processor_stays_there() -> None:
    done = subprocess.run([sys.executable, "-c", BOUND], input=REGIONS, timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
