"""The thread pool: every chunk runs once, from several Python threads, nested, after forks, at any number of threads."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from lend.targets.cpu.emit import CompiledModule, compile_module
from lend.targets.cpu.machine import host
from lend.targets.cpu.pool_layout import MAX_THREADS
from lend.targets.cpu.target import cpu
from lend.targets.cpu.threads import Pool, available_threads, pool
from lend.targets.cpu.threads_ir import pool_ir

FLUSHING = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @set_control(i32 %word) {
  %slot = alloca i32
  store i32 %word, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}
"""

REGIONS = """
declare void @lend_parallel_for(ptr, ptr, i64, i64)
declare i64 @pthread_self()

; env: ptr to i64 counts. Adds 1 to every position of the chunk.
define void @count(ptr %env, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %env, i64 %i
  %v = load i64, ptr %p
  %w = add i64 %v, 1
  store i64 %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; The same, but each position by a launch of its own.
define void @nested(ptr %env, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %env, i64 %i
  call void @lend_parallel_for(ptr @count, ptr %p, i64 1, i64 1)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @nested2(ptr %env, i64 %begin, i64 %end) {
  %p = getelementptr i64, ptr %env, i64 %begin
  %n = sub i64 %end, %begin
  call void @lend_parallel_for(ptr @count, ptr %p, i64 %n, i64 3)
  ret void
}

define void @empty(ptr %env, i64 %begin, i64 %end) {
  ret void
}

; Each chunk takes a while: many additions to its first position.
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
  %more = icmp slt i64 %next, 20000
  br i1 %more, label %loop, label %done
done:
  ret void
}

; The first position of the chunk becomes the thread, after a while.
define void @who(ptr %env, i64 %begin, i64 %end) {
entry:
  %p = getelementptr i64, ptr %env, i64 %begin
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  store volatile i64 0, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 500000
  br i1 %more, label %loop, label %done
done:
  %me = call i64 @pthread_self()
  store i64 %me, ptr %p
  ret void
}

; Halves a subnormal number once per position; env: ptr to f32.
define void @halve(ptr %env, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %env, i64 %i
  %v = load float, ptr %p
  %w = fmul float %v, 5.0e-1
  store float %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Position 1 waits for position 2 to begin (but not for ever), which then takes its time.
define void @meet(ptr %env, i64 %begin, i64 %end) {
entry:
  %begun = getelementptr i64, ptr %env, i64 3
  %p = getelementptr i64, ptr %env, i64 %begin
  switch i64 %begin, label %done [ i64 1, label %await i64 2, label %late ]
await:
  %k = phi i64 [ 0, %entry ], [ %k.next, %await ]
  %seen = load atomic volatile i64, ptr %begun monotonic, align 8
  %k.next = add i64 %k, 1
  %there = icmp ne i64 %seen, 0
  %enough = icmp sgt i64 %k.next, 100000000
  %stop = or i1 %there, %enough
  br i1 %stop, label %done, label %await
late:
  store atomic volatile i64 1, ptr %begun monotonic, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %late ], [ %next, %loop ]
  store volatile i64 0, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 3000000
  br i1 %more, label %loop, label %done
done:
  store i64 1, ptr %p
  ret void
}

define void @times(ptr %region, ptr %env, i64 %iterations, i64 %chunk, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @lend_parallel_for(ptr %region, ptr %env, i64 %iterations, i64 %chunk)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
parallel = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the pool is for Linux")


class Runner:
    """Calls regions of the test module through the pool."""

    def __init__(self) -> None:
        self.module: CompiledModule = cpu().compile(REGIONS)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._times = prototype(self.module.address("times"))

    def __call__(self, region: str, env: np.ndarray | None, iterations: int, chunk: int, times: int = 1) -> None:
        address = env.ctypes.data if env is not None else None
        self._times(self.module.address(region), address, iterations, chunk, times)


@pytest.fixture(scope="module")
def run() -> Runner:
    return Runner()


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[Pool]:
    """More threads than this machine may have processors, and all are called at once, so that they get in each other's way."""
    before, worth = pool().threads, pool().worth_ns
    pool().configure(4)
    pool().worth_ns = -1
    yield pool()
    pool().configure(before)
    pool().worth_ns = worth


@pytest.mark.parametrize("iterations", [0, 1, 2, 7, 64, 1000, 4097])
@pytest.mark.parametrize("chunk", [1, 3, 64, 5000])
def test_every_position_runs_exactly_once(run: Runner, iterations: int, chunk: int) -> None:
    counts = np.zeros(iterations + 8, np.int64)
    run("count", counts, iterations, chunk, times=5)
    assert (counts[:iterations] == 5).all()
    assert (counts[iterations:] == 0).all()


def test_a_negative_number_of_iterations_is_none(run: Runner) -> None:
    counts = np.zeros(4, np.int64)
    run("count", counts, -3, 1)
    assert not counts.any()


@parallel
def test_hammering_from_several_python_threads(run: Runner) -> None:
    arrays = [np.zeros(257, np.int64) for _ in range(4)]

    def work(counts: np.ndarray) -> None:
        for _ in range(20):
            run("count", counts, 257, 2, times=50)

    threads = [threading.Thread(target=work, args=(counts,)) for counts in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert all((counts == 1000).all() for counts in arrays)


def test_a_launch_inside_a_region_runs_in_place(run: Runner) -> None:
    counts = np.zeros(500, np.int64)
    run("nested", counts, 500, 7, times=3)
    run("nested2", counts, 500, 50, times=3)
    assert (counts == 6).all()


def test_writes_of_one_launch_are_seen_by_the_next(run: Runner) -> None:
    counts = np.zeros(1000, np.int64)
    for turn in range(300):
        run("count", counts, 1000, 10 + turn % 7)
    assert (counts == 300).all()


@parallel
def test_a_launch_returns_only_when_the_last_chunk_is_done(run: Runner, four_threads: Pool) -> None:
    four_threads.configure(2)
    for _ in range(5):
        done = np.zeros(4, np.int64)
        run("meet", done, 3, 1)
        assert done.tolist() == [1, 1, 1, 1]


@parallel
def test_workers_that_sleep_take_part(run: Runner, four_threads: Pool) -> None:
    for worth in (-1, 100_000):
        four_threads.worth_ns = worth
        for _ in range(20):  # on a busy machine, the caller may be done before anyone is awake
            time.sleep(0.001)
            threads = np.zeros(32, np.int64)
            run("who", threads, 32, 1)
            assert threads.all()
            if len(set(threads.tolist())) > 1:
                break
        else:
            raise AssertionError("no worker ever took part")


@parallel
def test_workers_that_sleep_are_woken(run: Runner) -> None:
    counts = np.zeros(64, np.int64)
    for _ in range(20):
        run("slow", counts, 64, 1)
        time.sleep(0.003)  # far longer than a worker spins
    assert (counts == 20 * 20000).all()


@parallel
def test_nobody_is_called_for_work_that_is_not_worth_it(run: Runner, four_threads: Pool) -> None:
    four_threads.worth_ns = 10**12
    counts = np.zeros(64, np.int64)
    child = os.fork()
    if child == 0:  # without workers at first
        run("slow", counts, 64, 1)
        os._exit(0 if len(os.listdir("/proc/self/task")) == 1 and (counts == 20000).all() else 1)
    assert wait_for(child) == 0
    four_threads.worth_ns = 100_000
    child = os.fork()
    if child == 0:
        run("slow", counts, 64, 1, times=10)
        os._exit(0 if len(os.listdir("/proc/self/task")) == 4 else 1)
    assert wait_for(child) == 0


@parallel
def test_the_number_of_threads_can_change_between_launches(run: Runner, four_threads: Pool) -> None:
    counts = np.zeros(300, np.int64)
    for turn in range(60):
        four_threads.configure((1, 2, 8, 3, 0, 5)[turn % 6])
        run("count", counts, 300, 3, times=20)
    assert (counts == 1200).all()


@parallel
def test_settings_of_the_number_of_threads(four_threads: Pool) -> None:
    four_threads.configure(0)
    assert four_threads.threads == 1
    four_threads.configure(10**6)
    assert four_threads.threads == MAX_THREADS
    four_threads.configure(3)
    assert four_threads.threads == 3
    assert available_threads() >= 1
    assert pool() is four_threads


@parallel
def test_more_threads_than_asked_for_never_work(run: Runner, four_threads: Pool) -> None:
    def threads_of_process() -> int:
        return len(os.listdir("/proc/self/task"))

    four_threads.configure(6)
    run("slow", np.zeros(64, np.int64), 64, 1)
    with_six = threads_of_process()
    four_threads.configure(2)
    run("slow", np.zeros(64, np.int64), 64, 1)
    assert threads_of_process() == with_six  # none was started; the others sleep


def wait_for(child: int, seconds: float = 30.0) -> int:
    """The exit status of a child; it is killed, and the test fails, if it hangs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def works_in_this_process(run: Runner) -> bool:
    counts = np.zeros(600, np.int64)
    run("count", counts, 600, 2, times=40)
    before = len(os.listdir("/proc/self/task"))
    run("slow", np.zeros(64, np.int64), 64, 1)
    return bool((counts == 40).all()) and before >= 2


@needs_fork
@parallel
def test_a_child_of_fork_starts_workers_of_its_own(run: Runner) -> None:
    run("count", np.zeros(600, np.int64), 600, 2, times=40)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0 if works_in_this_process(run) else 1)
        assert wait_for(child) == 0
    assert works_in_this_process(run)


@needs_fork
@parallel
def test_a_grandchild_works_too(run: Runner) -> None:
    child = os.fork()
    if child == 0:
        fine = works_in_this_process(run)
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if works_in_this_process(run) else 1)
        os._exit(0 if fine and wait_for(grandchild) == 0 else 1)
    assert wait_for(child) == 0


@needs_fork
@parallel
def test_a_fork_while_another_thread_is_launching(run: Runner) -> None:
    stop = threading.Event()
    counts = np.zeros(64, np.int64)

    def work() -> None:
        while not stop.is_set():
            run("slow", counts, 64, 1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            time.sleep(0.002)
            child = os.fork()
            if child == 0:
                os._exit(0 if works_in_this_process(run) else 1)
            assert wait_for(child) == 0
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()


@needs_fork
@parallel
def test_a_fork_by_c_code_that_python_does_not_see(run: Runner) -> None:
    run("count", np.zeros(600, np.int64), 600, 2, times=40)
    libc = ctypes.PyDLL(None)  # keeps the GIL, as a C extension that forks would
    child = libc.fork()
    if child == 0:
        libc._exit(0 if works_in_this_process(run) else 1)
    assert wait_for(child) == 0


@parallel
def test_the_process_ends_while_workers_sleep_or_spin() -> None:
    program = (
        "from lend.targets.cpu.target import cpu\n"
        "from lend.targets.cpu.threads import pool\n"
        "import ctypes\n"
        "pool().configure(4)\n"
        "m = cpu().compile('declare void @lend_parallel_for(ptr, ptr, i64, i64)\\n'\n"
        "  'define void @e(ptr %p, i64 %b, i64 %c) {\\n ret void\\n}\\n'\n"
        "  'define void @f() {\\n call void @lend_parallel_for(ptr @e, ptr null, i64 64, i64 1)\\n ret void\\n}\\n')\n"
        "ctypes.CFUNCTYPE(None)(m.address('f'))()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@parallel
def test_an_interrupt_reaches_python_and_not_a_worker(run: Runner) -> None:
    counts = np.zeros(64, np.int64)
    run("slow", counts, 64, 1)
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(threading.get_ident()))
    try:
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGUSR1)
            run("slow", counts, 64, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) == 20 and set(seen) == {threading.main_thread().ident}
    blocked = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as status:
            mask = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk"))
        blocked.append(mask)
    workers = [mask for mask in blocked if mask & (1 << (signal.SIGINT - 1))]
    assert workers and all(not mask & (1 << (signal.SIGSEGV - 1)) for mask in workers)


@parallel
@pytest.mark.skipif(host().architecture != "x86_64", reason="x86-64 only")
def test_workers_treat_subnormal_numbers_as_the_calling_thread_does(run: Runner) -> None:
    run("slow", np.zeros(64, np.int64), 64, 1)  # the workers exist
    set_control = ctypes.CFUNCTYPE(None, ctypes.c_uint32)((module := compile_module(FLUSHING)).address("set_control"))
    for word, left in ((0x1F80, True), (0x1F80 | 0x8040, False)):
        values = np.full(100_000, 1e-40, np.float32)
        set_control(word)
        try:
            run("halve", values, len(values), 10)
        finally:
            set_control(0x1F80)
        assert module and len(set(values.view(np.uint32).tolist())) == 1
        assert bool(values.view(np.uint32)[0]) is left


def test_without_futexes_regions_run_on_the_calling_thread() -> None:
    serial = compile_module(pool_ir("riscv128", linux=True).replace("lend_", "serial_"))
    module = compile_module(
        REGIONS.replace("lend_parallel_for", "serial_parallel_for"),
        symbols={"serial_parallel_for": serial.address("serial_parallel_for")},
    )
    counts = np.zeros(100, np.int64)
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    prototype(module.address("times"))(module.address("count"), counts.ctypes.data, 100, 7, 3)
    assert (counts == 3).all()


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "riscv64"])
def test_the_pools_code_can_be_made_for_each_architecture(architecture: str) -> None:
    from lend.targets.cpu.emit import assembly, optimise
    from lend.targets.cpu.machine import named

    machine = host() if host().architecture == architecture else named("", triple=f"{architecture}-unknown-linux-gnu")
    assert "lend_parallel_for" in assembly(optimise(pool_ir(architecture, linux=True), machine), machine)


@parallel
def test_latency_of_an_empty_region(run: Runner, four_threads: Pool) -> None:
    """Printed, not judged: the machine may be busy."""
    four_threads.configure(2)
    for chunks in (1, 2, 8):
        run("empty", None, chunks, 1, times=2000)
        begin = time.perf_counter()
        run("empty", None, chunks, 1, times=50_000)
        print(f"empty region, 2 threads, {chunks} chunks: {(time.perf_counter() - begin) / 50_000 * 1e9:.0f} ns")
    assert run("empty", None, 2, 1) is None
