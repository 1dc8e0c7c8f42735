"""The thread pool's code, as LLVM IR text: launches.

Does: `lend_parallel_for`, its workers, and the hooks `lend_pool_attach`, `lend_pool_reset` and the global `lend_pool_threads`;
`lend_parallel_now`, the same for work that is known to pay for waking threads; `lend_thread_count` and `lend_cache_bytes`, what a
launch can use of the machine.
Does not: allocate the pool's memory or choose the number of threads (`threads.py`); say what workers do (`workers_ir.py`).

How it works. The pool is one block of zeroed memory (offsets below). `state` holds in its lower half how many workers are inside
the present job and in its upper half a generation, odd while a job is open. A launch takes the lock (or, if another thread has
it, runs its chunks itself), writes the job, opens it, works on it, closes it, and waits until nobody is inside. A worker enters
an open job by adding 1 to `state`, which fails if the job has been closed. So a launch never waits for a worker that sleeps, and
a child of `fork`, which has no workers, finishes every launch on its own.

A launch that has fewer workers awake than it could use begins alone and measures: only when what is left would take longer than
`lend_pool_worth` nanoseconds does it start or wake the others. Launches that follow each other closely count together: half of
what they took alone is set against that price, so that a loop of small launches gets its workers, who then stay awake.

The chunks are dealt out in one contiguous run per thread, for the sake of the caches; who has finished his run takes chunks from
the others'. A worker that found nothing to do for `SPIN_NS` sleeps on a futex on the generation, and wakes on another processor
than the launch's (`placement_ir.py`).

Invariants: job fields change only while the job is closed and nobody is inside. Everything that regions wrote happens before
`lend_parallel_for` returns (each worker leaves with a release, the launch waits with an acquire). A worker counts itself as a
sleeper before it compares the generation for the last time, and a launch opens the job before it counts sleepers (both
sequentially consistent), so that no wake-up is lost.
"""

from __future__ import annotations

from lend.targets.cpu.placement_ir import PLACEMENT
from lend.targets.cpu.pool_layout import CONTROL, SYSTEM_CALLS, WORTH_NS, numbers
from lend.targets.cpu.workers_ir import WORKERS

_PAUSE = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": (
        "call void @llvm.aarch64.isb(i32 15)",
        "declare void @llvm.aarch64.isb(i32)",
    ),  # `yield` is no pause on most cores
}

_CONTROL = {
    "x86_64": (
        f"""%control.at = getelementptr i8, ptr %pool, i64 {CONTROL}
  call void @llvm.x86.sse.stmxcsr(ptr %control.at)""",
        f"""%control.at = getelementptr i8, ptr %pool, i64 {CONTROL}
  call void @llvm.x86.sse.ldmxcsr(ptr %control.at)""",
        "\ndeclare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)",
    )
}
"""How a launch records its rounding mode and its treatment of subnormals, which other libraries change, and how a worker takes
them over: a result must not depend on the thread that computes it."""

_COMMON = """
@lend_pool_threads = global i32 1
@lend_pool_worth = global i64 $WORTH_NS
@lend_pool_caches = global [4 x i64] zeroinitializer
@lend.pool = internal global ptr null

define i64 @lend_thread_count() nounwind {
  %threads = load atomic i32, ptr @lend_pool_threads monotonic, align 4
  %count = zext i32 %threads to i64
  ret i64 %count
}

define i64 @lend_cache_bytes(i64 %level) nounwind {
  %at = getelementptr [4 x i64], ptr @lend_pool_caches, i64 0, i64 %level
  %bytes = load i64, ptr %at, align 8
  ret i64 %bytes
}

define void @lend_pool_attach(ptr %pool) nounwind {
  store ptr %pool, ptr @lend.pool
  ret void
}

define internal void @lend.inline(ptr %region, ptr %env, i64 %iterations, i64 %chunk) {
entry:
  br label %next
next:
  %begin = phi i64 [ 0, %entry ], [ %end, %next ]
  %left = sub i64 %iterations, %begin
  %more = icmp ugt i64 %left, %chunk
  %length = select i1 %more, i64 %chunk, i64 %left
  %end = add i64 %begin, %length
  call void %region(ptr %env, i64 %begin, i64 %end)
  br i1 %more, label %next, label %done
done:
  ret void
}
"""

_SERIAL = """
define void @lend_pool_reset() nounwind {
  ret void
}

define void @lend_parallel_now(ptr %region, ptr %env, i64 %iterations, i64 %chunk) {
  call void @lend_parallel_for(ptr %region, ptr %env, i64 %iterations, i64 %chunk)
  ret void
}

define void @lend_parallel_for(ptr %region, ptr %env, i64 %iterations, i64 %chunk) {
  %some = icmp sgt i64 %iterations, 0
  br i1 %some, label %run, label %done
run:
  %sized = icmp sgt i64 %chunk, 0
  %step = select i1 %sized, i64 %chunk, i64 %iterations
  call void @lend.inline(ptr %region, ptr %env, i64 %iterations, i64 %step)
  br label %done
done:
  ret void
}
"""

_POOL = """
declare i64 @syscall(i64, ...) nounwind
declare i32 @clock_gettime(i32, ptr) nounwind
declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_attr_init(ptr) nounwind
declare i32 @pthread_attr_destroy(ptr) nounwind
declare i32 @pthread_attr_setdetachstate(ptr, i32) nounwind
declare i32 @pthread_attr_setstacksize(ptr, i64) nounwind
declare i32 @pthread_sigmask(i32, ptr, ptr) nounwind
declare i32 @sigfillset(ptr) nounwind
declare i32 @sigdelset(ptr, i32) nounwind
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)

define void @lend_pool_reset() nounwind {
  %pool = load ptr, ptr @lend.pool
  call void @llvm.memset.p0.i64(ptr %pool, i8 0, i64 $POOL_BYTES, i1 false)
  ret void
}

define internal i64 @lend.now() nounwind {
  %time = alloca [2 x i64]
  %unused = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}

; Whether a spinning thread should go on: looks at the clock every 64th time. The deadline is set the first time.
define internal i1 @lend.spin(i64 %count, ptr %deadline) alwaysinline nounwind {
entry:
  $PAUSE
  %low = and i64 %count, 63
  %look = icmp eq i64 %low, 63
  br i1 %look, label %clock, label %on
clock:
  %now = call i64 @lend.now()
  %first = icmp eq i64 %count, 63
  br i1 %first, label %set, label %compare
set:
  %end = add i64 %now, $SPIN_NS
  store i64 %end, ptr %deadline
  br label %on
compare:
  %limit = load i64, ptr %deadline
  %over = icmp sgt i64 %now, %limit
  br i1 %over, label %stop, label %on
on:
  ret i1 true
stop:
  ret i1 false
}

"""

_LAUNCH = """
; Take part in the job that the calling thread has opened. While workers are missing: one chunk at a time, with a look at the
; clock, until it is worth while to call them (or they are called at once).
define internal void @lend.lead(ptr %pool, i64 %runs, i32 %limit, i64 %chunks, i1 %early) {
entry:
  %started.at = getelementptr i8, ptr %pool, i64 $STARTED
  %started = load i32, ptr %started.at
  %sleepers.at = getelementptr i8, ptr %pool, i64 $SLEEPERS
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %awake = sub i32 %started, %sleepers
  %runs32 = trunc i64 %runs to i32
  %helpers = sub i32 %runs32, 1
  %lacking = sub i32 %helpers, %awake
  %any = icmp sgt i32 %lacking, 0
  br i1 %any, label %lacks, label %together
lacks:
  br i1 %early, label %muster, label %alone
alone:
  %region.at = getelementptr i8, ptr %pool, i64 $JOB
  %region = load ptr, ptr %region.at
  %env.at = getelementptr i8, ptr %region.at, i64 8
  %env = load ptr, ptr %env.at
  %iterations.at = getelementptr i8, ptr %region.at, i64 16
  %iterations = load i64, ptr %iterations.at
  %chunk.at = getelementptr i8, ptr %region.at, i64 24
  %chunk = load i64, ptr %chunk.at
  %next.at = getelementptr i8, ptr %pool, i64 $RUNS
  %end.at = getelementptr i8, ptr %next.at, i64 8
  %end = load i64, ptr %end.at
  %worth = load atomic i64, ptr @lend_pool_worth monotonic, align 8
  %chunks.f = sitofp i64 %chunks to double
  %team = add i32 %awake, 1
  %team.f = sitofp i32 %team to double
  %begun = call i64 @lend.now()
  %credit.at = getelementptr i8, ptr %pool, i64 $CREDIT
  %credit.time.at = getelementptr i8, ptr %credit.at, i64 8
  %credit.time = load i64, ptr %credit.time.at
  %pause = sub i64 %begun, %credit.time
  %hot = icmp slt i64 %pause, $SPIN_NS
  %credit.old = load i64, ptr %credit.at
  %credit = select i1 %hot, i64 %credit.old, i64 0
  %short = sub i64 %worth, %credit
  %short.f = sitofp i64 %short to double
  br label %take
take:
  %done = phi i64 [ 0, %alone ], [ %done.next, %call ]
  %mine = atomicrmw add ptr %next.at, i64 1 monotonic
  %got = icmp slt i64 %mine, %end
  br i1 %got, label %call, label %rest.alone
call:
  %begin = mul i64 %mine, %chunk
  %rest = sub i64 %iterations, %begin
  %length = call i64 @llvm.umin.i64(i64 %rest, i64 %chunk)
  %stop = add i64 %begin, %length
  call void %region(ptr %env, i64 %begin, i64 %stop)
  %done.next = add i64 %done, 1
  %now = call i64 @lend.now()
  %spent = sub i64 %now, %begun
  %spent.f = sitofp i64 %spent to double
  %done.f = sitofp i64 %done.next to double
  %done.all = fmul double %done.f, %team.f
  %left = fsub double %chunks.f, %done.all
  %scaled = fmul double %spent.f, %left
  %threshold = fmul double %short.f, %done.all
  %long = fcmp ogt double %scaled, %threshold
  br i1 %long, label %muster, label %take
muster:
  %spent.credit.at = getelementptr i8, ptr %pool, i64 $CREDIT
  store i64 0, ptr %spent.credit.at
  call void @lend.muster(ptr %pool, i32 %helpers, i32 %lacking, i32 %limit)
  br label %together
together:
  call void @lend.work(ptr %pool, i64 0)
  ret void
rest.alone:
  call void @lend.work(ptr %pool, i64 0)
  %ended = call i64 @lend.now()
  %lasted = sub i64 %ended, %begun
  %saved = lshr i64 %lasted, 1
  %credit.new = add i64 %credit, %saved
  store i64 %credit.new, ptr %credit.at
  store i64 %ended, ptr %credit.time.at
  ret void
}

; Start workers until there are %helpers, else wake %lacking that sleep.
define internal void @lend.muster(ptr %pool, i32 %helpers, i32 %lacking, i32 %limit) noinline nounwind {
entry:
  %started.at = getelementptr i8, ptr %pool, i64 $STARTED
  %started = load i32, ptr %started.at
  call void @lend.start(ptr %pool, i32 %helpers)
  %present = load i32, ptr %started.at
  %new = sub i32 %present, %started
  %asleep = sub i32 %lacking, %new
  %any = icmp sgt i32 %asleep, 0
  br i1 %any, label %wake, label %done
wake:
  %highest = sub i32 %limit, 1
  %below = icmp slt i32 %highest, %started
  %last = select i1 %below, i32 %highest, i32 %started
  call void @lend.place.all(ptr %pool, i32 %last, i32 %helpers)
  %few = icmp slt i32 %limit, 32
  %shift = select i1 %few, i32 %limit, i32 0
  %bits = shl i32 1, %shift
  %mask = sub i32 %bits, 1
  %who = select i1 %few, i32 %mask, i32 -1
  %generation.at = getelementptr i8, ptr %pool, i64 $GENERATION
  %asleep64 = zext i32 %asleep to i64
  %unused = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %generation.at, i64 $WAKE_BITSET, i64 %asleep64,
    ptr null, ptr null, i32 %who)
  br label %done
done:
  ret void
}

; Wait until no worker is inside: spin for a while, then sleep.
define internal void @lend.join(ptr %pool) nounwind {
entry:
  %deadline = alloca i64
  %state.at = getelementptr i8, ptr %pool, i64 $STATE
  %waiting.at = getelementptr i8, ptr %pool, i64 $WAITING
  br label %look
look:
  %count = phi i64 [ 0, %entry ], [ %count.next, %spin ]
  %inside = load atomic i32, ptr %state.at acquire, align 8
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %done, label %spin
spin:
  %count.next = add i64 %count, 1
  %on = call i1 @lend.spin(i64 %count, ptr %deadline)
  br i1 %on, label %look, label %announce
announce:
  store atomic i32 1, ptr %waiting.at seq_cst, align 4
  br label %again
again:
  %inside2 = load atomic i32, ptr %state.at seq_cst, align 8
  %empty2 = icmp eq i32 %inside2, 0
  br i1 %empty2, label %clear, label %sleep
sleep:
  %inside64 = zext i32 %inside2 to i64
  %unused = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %state.at, i64 $WAIT, i64 %inside64, ptr null)
  br label %again
clear:
  store atomic i32 0, ptr %waiting.at seq_cst, align 4
  br label %done
done:
  ret void
}

define void @lend_parallel_for(ptr %region, ptr %env, i64 %iterations, i64 %chunk) {
  call void @lend.parallel(ptr %region, ptr %env, i64 %iterations, i64 %chunk, i1 false)
  ret void
}

define void @lend_parallel_now(ptr %region, ptr %env, i64 %iterations, i64 %chunk) {
  call void @lend.parallel(ptr %region, ptr %env, i64 %iterations, i64 %chunk, i1 true)
  ret void
}

define internal void @lend.parallel(ptr %region, ptr %env, i64 %iterations, i64 %chunk, i1 %early) {
entry:
  %some = icmp sgt i64 %iterations, 0
  br i1 %some, label %measure, label %return
measure:
  %sized = icmp sgt i64 %chunk, 0
  %step = select i1 %sized, i64 %chunk, i64 %iterations
  %several = icmp ugt i64 %iterations, %step
  %threads = load atomic i32, ptr @lend_pool_threads monotonic, align 4
  %parallel = icmp sgt i32 %threads, 1
  %worthwhile = and i1 %several, %parallel
  br i1 %worthwhile, label %acquire, label %inline
acquire:
  %pool = load ptr, ptr @lend.pool
  %exchange = cmpxchg ptr %pool, i32 0, i32 1 acquire monotonic
  %locked = extractvalue { i32, i1 } %exchange, 1
  br i1 %locked, label %prepare, label %inline
inline:
  call void @lend.inline(ptr %region, ptr %env, i64 %iterations, i64 %step)
  br label %return
prepare:
  %last = sub i64 %iterations, 1
  %full = udiv i64 %last, %step
  %chunks = add i64 %full, 1
  %threads64 = zext i32 %threads to i64
  %runs = call i64 @llvm.umin.i64(i64 %chunks, i64 %threads64)
  %runs32 = trunc i64 %runs to i32
  %region.at = getelementptr i8, ptr %pool, i64 $JOB
  store ptr %region, ptr %region.at
  %env.at = getelementptr i8, ptr %region.at, i64 8
  store ptr %env, ptr %env.at
  %iterations.at = getelementptr i8, ptr %region.at, i64 16
  store i64 %iterations, ptr %iterations.at
  %chunk.at = getelementptr i8, ptr %region.at, i64 24
  store i64 %step, ptr %chunk.at
  %runs.at = getelementptr i8, ptr %region.at, i64 32
  store i64 %runs, ptr %runs.at
  %limit.at = getelementptr i8, ptr %region.at, i64 40
  store atomic i32 %threads, ptr %limit.at monotonic, align 4
  $RECORD
  %share = udiv i64 %chunks, %runs
  %used = mul i64 %share, %runs
  %extra = sub i64 %chunks, %used
  br label %deal
deal:
  %run = phi i64 [ 0, %prepare ], [ %run.next, %deal ]
  %from = phi i64 [ 0, %prepare ], [ %to, %deal ]
  %longer = icmp ult i64 %run, %extra
  %bonus = zext i1 %longer to i64
  %size = add i64 %share, %bonus
  %to = add i64 %from, %size
  %offset = mul i64 %run, $RUN_BYTES
  %place = add i64 %offset, $RUNS
  %next.at = getelementptr i8, ptr %pool, i64 %place
  store atomic i64 %from, ptr %next.at monotonic, align 8
  %end.at = getelementptr i8, ptr %next.at, i64 8
  store i64 %to, ptr %end.at
  %from.at = getelementptr i8, ptr %next.at, i64 16
  store i64 %from, ptr %from.at
  %run.next = add i64 %run, 1
  %dealt = icmp eq i64 %run.next, %runs
  br i1 %dealt, label %open, label %deal
open:
  %state.at = getelementptr i8, ptr %pool, i64 $STATE
  %unused = atomicrmw add ptr %state.at, i64 4294967296 seq_cst
  call void @lend.lead(ptr %pool, i64 %runs, i32 %threads, i64 %chunks, i1 %early)
  %unused2 = atomicrmw add ptr %state.at, i64 4294967296 seq_cst
  call void @lend.join(ptr %pool)
  store atomic i32 0, ptr %pool release, align 4
  br label %return
return:
  ret void
}
"""


def pool_ir(architecture: str, linux: bool) -> str:
    """The pool's module; where there is no futex, one that runs everything on the calling thread."""
    common = _COMMON.replace("$WORTH_NS", str(WORTH_NS))
    if not linux or architecture not in SYSTEM_CALLS:
        return common + _SERIAL
    text = common + _POOL + PLACEMENT + WORKERS + _LAUNCH
    values = numbers(architecture)
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(f"${name}", str(values[name]))
    pause, declaration = _PAUSE.get(architecture, ("fence seq_cst", ""))
    record, adopt, more = _CONTROL.get(architecture, ("", "", ""))
    text = text.replace("$RECORD", record).replace("$ADOPT", adopt)
    return declaration + more + text.replace("$PAUSE", pause)
