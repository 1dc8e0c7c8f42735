"""The workers of the thread pool, as LLVM IR text.

Does: `lend.start`, which starts them; `lend.worker`, a worker's life; `lend.work`, taking chunks of the open job, as launches do.
Does not: open jobs (`threads_ir.py`, whose page says how the pool works); decide where threads run (`placement_ir.py`).
Invariants: a worker says that it is asleep before it counts itself among the sleepers.
"""

from __future__ import annotations

WORKERS = """
; Work on the open job: the runs in turn, one's own first. Who takes the first chunk of a run owns it as well, and goes on until
; it is empty; so others can leave its last chunk alone: an owner is about to take it, and its data are in his cache.
define internal void @lend.work(ptr %pool, i64 %me) {
entry:
  %region.at = getelementptr i8, ptr %pool, i64 $JOB
  %region = load ptr, ptr %region.at
  %env.at = getelementptr i8, ptr %region.at, i64 8
  %env = load ptr, ptr %env.at
  %iterations.at = getelementptr i8, ptr %region.at, i64 16
  %iterations = load i64, ptr %iterations.at
  %chunk.at = getelementptr i8, ptr %region.at, i64 24
  %chunk = load i64, ptr %chunk.at
  %runs.at = getelementptr i8, ptr %region.at, i64 32
  %runs = load i64, ptr %runs.at
  %own = icmp ult i64 %me, %runs
  %other = urem i64 %me, %runs
  %first = select i1 %own, i64 %me, i64 %other
  br label %visit
visit:
  %seen = phi i64 [ 0, %entry ], [ %seen.next, %leave ]
  %run = phi i64 [ %first, %entry ], [ %run.next, %leave ]
  %offset = mul i64 %run, $RUN_BYTES
  %start = add i64 %offset, $RUNS
  %next.at = getelementptr i8, ptr %pool, i64 %start
  %end.at = getelementptr i8, ptr %next.at, i64 8
  %end = load i64, ptr %end.at
  %from.at = getelementptr i8, ptr %next.at, i64 16
  %from = load i64, ptr %from.at
  %mine.run = icmp eq i64 %run, %first
  br label %look
look:
  %owner = phi i1 [ %mine.run, %visit ], [ %owner.next, %call ]
  %spared = select i1 %owner, i64 0, i64 1
  %limit = sub i64 %end, %spared
  %peek = load atomic i64, ptr %next.at monotonic, align 8
  %left = icmp slt i64 %peek, %limit
  %untouched = icmp eq i64 %peek, %from
  %open = icmp slt i64 %peek, %end
  %absent = and i1 %untouched, %open
  %worthwhile = or i1 %left, %absent
  br i1 %worthwhile, label %take, label %leave
take:
  %mine = atomicrmw add ptr %next.at, i64 1 monotonic
  %got = icmp slt i64 %mine, %end
  br i1 %got, label %call, label %leave
call:
  %begins = icmp eq i64 %mine, %from
  %owner.next = or i1 %owner, %begins
  %begin = mul i64 %mine, %chunk
  %rest = sub i64 %iterations, %begin
  %length = call i64 @llvm.umin.i64(i64 %rest, i64 %chunk)
  %stop = add i64 %begin, %length
  call void %region(ptr %env, i64 %begin, i64 %stop)
  br label %look
leave:
  %run.up = add i64 %run, 1
  %wrap = icmp eq i64 %run.up, %runs
  %run.next = select i1 %wrap, i64 0, i64 %run.up
  %seen.next = add i64 %seen, 1
  %all = icmp eq i64 %seen.next, %runs
  br i1 %all, label %done, label %visit
done:
  ret void
}

define internal ptr @lend.worker(ptr %argument) nounwind {
entry:
  %deadline = alloca i64
  %me = ptrtoint ptr %argument to i64
  %me32 = trunc i64 %me to i32
  %capped = call i64 @llvm.umin.i64(i64 %me, i64 31)
  %shift = trunc i64 %capped to i32
  %bit = shl i32 1, %shift
  %pool = load ptr, ptr @lend.pool
  %state.at = getelementptr i8, ptr %pool, i64 $STATE
  %generation.at = getelementptr i8, ptr %pool, i64 $GENERATION
  %sleepers.at = getelementptr i8, ptr %pool, i64 $SLEEPERS
  %waiting.at = getelementptr i8, ptr %pool, i64 $WAITING
  %limit.at = getelementptr i8, ptr %pool, i64 $LIMIT
  %place = call ptr @lend.place.of(ptr %pool, i64 %me)
  call void @lend.place.begin(ptr %place)
  br label %look
look:
  %last = phi i64 [ 0, %entry ], [ %last, %spin ], [ %generation, %skip ], [ %last, %enter ], [ %generation, %left ],
    [ %last, %woken ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %spin ], [ %count, %skip ], [ %count, %enter ], [ 0, %left ], [ 0, %woken ]
  %state = load atomic i64, ptr %state.at acquire, align 8
  %generation = lshr i64 %state, 32
  %open = trunc i64 %generation to i1
  %new = icmp ne i64 %generation, %last
  %go = and i1 %open, %new
  br i1 %go, label %check, label %spin
spin:
  %count.next = add i64 %count, 1
  %on = call i1 @lend.spin(i64 %count, ptr %deadline)
  br i1 %on, label %look, label %sleep
check:
  %limit = load atomic i32, ptr %limit.at monotonic, align 4
  %allowed = icmp slt i32 %me32, %limit
  br i1 %allowed, label %enter, label %skip
skip:
  br label %look
enter:
  %state.next = add i64 %state, 1
  %exchange = cmpxchg ptr %state.at, i64 %state, i64 %state.next acq_rel monotonic
  %inside = extractvalue { i64, i1 } %exchange, 1
  br i1 %inside, label %work, label %look
work:
  $ADOPT
  call void @lend.work(ptr %pool, i64 %me)
  %before = atomicrmw sub ptr %state.at, i64 1 seq_cst
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %wake = icmp ne i32 %waiting, 0
  br i1 %wake, label %signal, label %left
signal:
  %unused = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %state.at, i64 $WAKE, i64 1)
  br label %left
left:
  br label %look
sleep:
  store atomic i32 $ASLEEP, ptr %place seq_cst, align 4
  %s1 = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  %again = load atomic i64, ptr %state.at seq_cst, align 8
  %again.generation = lshr i64 %again, 32
  %again.open = trunc i64 %again.generation to i1
  %again.new = icmp ne i64 %again.generation, %last
  %again.go = and i1 %again.open, %again.new
  br i1 %again.go, label %woken, label %wait
wait:
  %unused2 = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %generation.at, i64 $WAIT_BITSET, i64 %again.generation,
    ptr null, ptr null, i32 %bit)
  br label %woken
woken:
  %s2 = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  call void @lend.place.leave(ptr %place)
  br label %look
}

; Start workers until there are %wanted. Signals go to Python's threads, but for those that an instruction raises.
define internal void @lend.start(ptr %pool, i32 %wanted) noinline nounwind {
entry:
  %attributes = alloca [16 x i64], align 16
  %started.at = getelementptr i8, ptr %pool, i64 $STARTED
  %before = load i32, ptr %started.at
  %plenty = icmp sge i32 %before, %wanted
  %set = alloca [16 x i64], align 16
  %old = alloca [16 x i64], align 16
  %thread = alloca i64
  br i1 %plenty, label %return, label %mask
mask:
  %u1 = call i32 @sigfillset(ptr %set)
  %u2 = call i32 @sigdelset(ptr %set, i32 4)
  %u3 = call i32 @sigdelset(ptr %set, i32 5)
  %u4 = call i32 @sigdelset(ptr %set, i32 7)
  %u5 = call i32 @sigdelset(ptr %set, i32 8)
  %u6 = call i32 @sigdelset(ptr %set, i32 11)
  %u7 = call i32 @pthread_sigmask(i32 2, ptr %set, ptr %old)
  %u8 = call i32 @pthread_attr_init(ptr %attributes)
  %u9 = call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 1)
  %u10 = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 $STACK_BYTES)
  br label %next
next:
  %started = load i32, ptr %started.at
  %enough = icmp sge i32 %started, %wanted
  br i1 %enough, label %done, label %create
create:
  %index = add i32 %started, 1
  %index64 = zext i32 %index to i64
  %argument = inttoptr i64 %index64 to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @lend.worker, ptr %argument)
  %made = icmp eq i32 %failed, 0
  br i1 %made, label %count, label %done
count:
  store i32 %index, ptr %started.at
  br label %next
done:
  %u11 = call i32 @pthread_attr_destroy(ptr %attributes)
  %u12 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %return
return:
  ret void
}

"""
