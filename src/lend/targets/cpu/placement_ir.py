"""Which processor a worker wakes on, as LLVM IR text.

Does: keep workers that a launch wakes off the launch's own processor. `lend.place.all` takes that processor out of the affinity
masks of those that sleep; a worker that wakes takes its own mask back (`lend.place.leave`).
Does not: place threads once and for all, nor new ones, nor more than `MOST_PLACED`.

Why: a system that does not see that a processor is idle (in a virtual machine, one that the host has taken away meanwhile looks
busy) puts who is woken beside who wakes, and there the worker waits until the launch has done the work alone.

How. A place has a state. Its worker makes AWAKE to ASLEEP before it waits. A launch makes ASLEEP to BUSY, changes the mask, and
makes BUSY to PLACED. A worker that wakes waits while its place is BUSY, which takes microseconds, and makes it AWAKE.
Invariants: a mask loses nothing but the launch's processor, and only while as many processors are left as there are workers to
wake, so that threads of a process bound to one, or more threads than processors, are left to the system. A mask that was changed
stands in the place until its worker has it back. Where the system refuses, everything goes on without.
"""

from __future__ import annotations

PLACEMENT = """
define internal ptr @lend.place.of(ptr %pool, i64 %index) alwaysinline nounwind {
  %offset = mul i64 %index, $PLACE_BYTES
  %at = add i64 %offset, $PLACES
  %place = getelementptr i8, ptr %pool, i64 %at
  ret ptr %place
}

; A worker's first deed: where others find it.
define internal void @lend.place.begin(ptr %place) noinline nounwind {
  %number = call i64 (i64, ...) @syscall(i64 $THREAD_NUMBER)
  %number32 = trunc i64 %number to i32
  %thread.at = getelementptr i8, ptr %place, i64 $PLACE_THREAD
  store i32 %number32, ptr %thread.at
  ret void
}

; Its first when it wakes.
define internal void @lend.place.leave(ptr %place) noinline nounwind {
entry:
  br label %look
look:
  %state = load atomic i32, ptr %place monotonic, align 4
  %busy = icmp eq i32 %state, $BUSY
  br i1 %busy, label %wait, label %try
wait:
  %u1 = call i64 (i64, ...) @syscall(i64 $GIVE_WAY)
  br label %look
try:
  %exchange = cmpxchg ptr %place, i32 %state, i32 $AWAKE acq_rel monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %own, label %look
own:
  %placed = icmp eq i32 %state, $PLACED
  br i1 %placed, label %restore, label %done
restore:
  %mask = getelementptr i8, ptr %place, i64 $PLACE_MASK
  %u2 = call i64 (i64, ...) @syscall(i64 $SET_AFFINITY, i64 0, i64 $MASK_BYTES, ptr %mask)
  br label %done
done:
  ret void
}

; Keep workers up to %last that sleep off this processor; %helpers are about to be woken.
define internal void @lend.place.all(ptr %pool, i32 %last, i32 %helpers) noinline nounwind {
entry:
  %here.at = alloca i64
  store i64 0, ptr %here.at
  %few = icmp slt i32 %helpers, $MOST_PLACED
  br i1 %few, label %locate, label %done
locate:
  %failed = call i64 (i64, ...) @syscall(i64 $GET_PROCESSOR, ptr %here.at, ptr null, ptr null)
  %located = icmp eq i64 %failed, 0
  %here32 = load i32, ptr %here.at
  %here = zext i32 %here32 to i64
  %small = icmp ult i64 %here, $MASK_BITS
  %known = and i1 %located, %small
  br i1 %known, label %loop, label %done
loop:
  %index = phi i32 [ 1, %locate ], [ %index.next, %next ]
  %more = icmp sle i32 %index, %last
  br i1 %more, label %visit, label %done
visit:
  %index64 = zext i32 %index to i64
  %place = call ptr @lend.place.of(ptr %pool, i64 %index64)
  %state = load atomic i32, ptr %place monotonic, align 4
  %asleep = icmp eq i32 %state, $ASLEEP
  %placed = icmp eq i32 %state, $PLACED
  %sleeps = or i1 %asleep, %placed
  br i1 %sleeps, label %take, label %next
take:
  %exchange = cmpxchg ptr %place, i32 %state, i32 $BUSY acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %change, label %next
change:
  %changed = call i1 @lend.place.one(ptr %place, i64 %here, i32 %helpers, i1 %placed)
  %new = select i1 %changed, i32 $PLACED, i32 %state
  store atomic i32 %new, ptr %place release, align 4
  br label %next
next:
  %index.next = add i32 %index, 1
  br label %loop
done:
  ret void
}

; Keep one off processor %here, if that leaves processors enough: whether its mask was changed.
define internal i1 @lend.place.one(ptr %place, i64 %here, i32 %helpers, i1 %placed) noinline nounwind {
entry:
  %narrow = alloca [$MASK_WORDS x i64]
  %mask = getelementptr i8, ptr %place, i64 $PLACE_MASK
  %thread.at = getelementptr i8, ptr %place, i64 $PLACE_THREAD
  %thread32 = load i32, ptr %thread.at
  %thread = sext i32 %thread32 to i64
  br i1 %placed, label %copy, label %ask
ask:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 $MASK_BYTES, i1 false)
  %got = call i64 (i64, ...) @syscall(i64 $GET_AFFINITY, i64 %thread, i64 $MASK_BYTES, ptr %mask)
  %told = icmp sgt i64 %got, 0
  br i1 %told, label %copy, label %no
copy:
  %k = phi i64 [ 0, %entry ], [ 0, %ask ], [ %k.next, %copy ]
  %count = phi i64 [ 0, %entry ], [ 0, %ask ], [ %count.next, %copy ]
  %from = getelementptr i64, ptr %mask, i64 %k
  %to = getelementptr i64, ptr %narrow, i64 %k
  %word = load i64, ptr %from
  store i64 %word, ptr %to
  %ones = call i64 @llvm.ctpop.i64(i64 %word)
  %count.next = add i64 %count, %ones
  %k.next = add i64 %k, 1
  %copied = icmp eq i64 %k.next, $MASK_WORDS
  br i1 %copied, label %judge, label %copy
judge:
  %which = lshr i64 %here, 6
  %within = and i64 %here, 63
  %bit = shl i64 1, %within
  %at = getelementptr i64, ptr %narrow, i64 %which
  %old = load i64, ptr %at
  %hit = and i64 %old, %bit
  %among = icmp ne i64 %hit, 0
  %helpers64 = zext i32 %helpers to i64
  %plenty = icmp ugt i64 %count.next, %helpers64
  %narrows = and i1 %among, %plenty
  br i1 %narrows, label %remove, label %leave
remove:
  %cleared = xor i64 %old, %bit
  store i64 %cleared, ptr %at
  br label %set
leave:
  br i1 %placed, label %set, label %no
set:
  %refused = call i64 (i64, ...) @syscall(i64 $SET_AFFINITY, i64 %thread, i64 $MASK_BYTES, ptr %narrow)
  %done = icmp eq i64 %refused, 0
  ret i1 %done
no:
  ret i1 false
}
"""
