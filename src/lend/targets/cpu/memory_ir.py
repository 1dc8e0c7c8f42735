"""The code that allocates arrays of ours, as LLVM IR text.

Does: `lend_allocate`, `lend_free`, `lend_memory_trim` and the globals `lend_memory_limit` and `lend_memory_kept`.
Does not: choose the limit (`memory.py`).

How it works. Small blocks are the C library's. From `LARGE` bytes on, a block is a mapping of its own, which `lend_free` does not
give back: it puts the block into one of `SLOTS` slots, where a later allocation of about that size finds it, with its pages. What
the slots hold together is at most `lend_memory_limit` bytes; to make room, blocks are unmapped, the slots taking turns.

From `HUGE` bytes on a mapping is aligned to 2 MiB, and the system is asked for pages of that size. Blocks begin at different
distances from a page's start ("colours"), so that arrays which are walked together do not meet in the same sets of a cache.

In front of each block, in a cache line of its own, stand: its mapping (or what `malloc` gave), the bytes it can hold, and the
mapping's size (0 for the C library's).

Invariants: a slot is emptied and filled by one atomic operation, and only who has taken a block out looks into it. So there is no
lock that a thread could hold while its process forks; at worst the child loses a block that was on its way. The size noted
beside a slot is a hint, which may be wrong.
"""

from __future__ import annotations

LARGE = 1 << 17
"""Blocks of so many bytes and more are pooled."""

HUGE = 1 << 21
"""Blocks of so many bytes and more have pages of 2 MiB: at least one."""

HUGE_PAGE = 1 << 21
PAGE = 1 << 16
"""No page that is not huge is larger, on any system."""

SLOTS = 32
SLOT_BYTES = 16
LINE = 64
COLOURS, COLOUR_BYTES = 12, 320
PIECE = 1 << 18
"""What is cleared in one go; a block of two pieces and more is cleared in parallel."""

BASE, CAPACITY, MAPPED = -64, -56, -48
"""Offsets of a block's header."""

_MADV_HUGEPAGE = 14

_HEAD = """
declare ptr @malloc(i64) nounwind
declare ptr @calloc(i64, i64) nounwind
declare void @free(ptr) nounwind
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

@lend_memory_limit = global i64 0
@lend_memory_kept = global i64 0

; A block of the C library's: the header, and up to a line for alignment, come on top.
define internal ptr @lend.small(i64 %bytes, i32 %zeroed) nounwind {
entry:
  %whole = add i64 %bytes, 128
  %wraps = icmp ult i64 %whole, %bytes
  br i1 %wraps, label %none, label %sized
sized:
  %clear = icmp ne i32 %zeroed, 0
  br i1 %clear, label %zeros, label %plain
zeros:
  %z = call ptr @calloc(i64 1, i64 %whole)
  br label %made
plain:
  %p = call ptr @malloc(i64 %whole)
  br label %made
made:
  %base = phi ptr [ %z, %zeros ], [ %p, %plain ]
  %failed = icmp eq ptr %base, null
  br i1 %failed, label %none, label %place
place:
  %address = ptrtoint ptr %base to i64
  %up = add i64 %address, 127
  %aligned = and i64 %up, -64
  %block = inttoptr i64 %aligned to ptr
  %base.at = getelementptr i8, ptr %block, i64 $BASE
  store ptr %base, ptr %base.at
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  store i64 0, ptr %mapped.at
  ret ptr %block
none:
  ret ptr null
}
"""

_PLAIN = """
define ptr @lend_allocate(i64 %bytes, i32 %zeroed) nounwind {
  %block = call ptr @lend.small(i64 %bytes, i32 %zeroed)
  ret ptr %block
}

define void @lend_free(ptr %block) nounwind {
  %base.at = getelementptr i8, ptr %block, i64 $BASE
  %base = load ptr, ptr %base.at
  call void @free(ptr %base)
  ret void
}

define void @lend_memory_trim() nounwind {
  ret void
}
"""

_POOLED = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64) nounwind
declare i32 @munmap(ptr, i64) nounwind
declare i32 @madvise(ptr, i64, i32) nounwind
declare i64 @llvm.umin.i64(i64, i64)
declare void @lend_parallel_for(ptr, ptr, i64, i64)

@lend.slots = internal global [$WORDS x i64] zeroinitializer, align 64
@lend.turn = internal global i64 0
@lend.colour = internal global i64 0

define internal void @lend.unmap(ptr %block) nounwind {
  %base.at = getelementptr i8, ptr %block, i64 $BASE
  %base = load ptr, ptr %base.at
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  %mapped = load i64, ptr %mapped.at
  %unused = call i32 @munmap(ptr %base, i64 %mapped)
  ret void
}

; Count a block as kept no more, and unmap it.
define internal void @lend.drop(ptr %block) nounwind {
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  %mapped = load i64, ptr %mapped.at
  %unused = atomicrmw sub ptr @lend_memory_kept, i64 %mapped monotonic
  call void @lend.unmap(ptr %block)
  ret void
}

; Put a block, which counts as kept, into an empty slot, or in place of another, which is dropped.
define internal void @lend.put(ptr %block) nounwind {
entry:
  %capacity.at = getelementptr i8, ptr %block, i64 $CAPACITY
  %capacity = load i64, ptr %capacity.at
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %offset = mul i64 %k, $SLOT_BYTES
  %slot = getelementptr i8, ptr @lend.slots, i64 %offset
  %there = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %there, null
  br i1 %empty, label %try, label %next
try:
  %exchange = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %put = extractvalue { ptr, i1 } %exchange, 1
  br i1 %put, label %note, label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, $SLOTS
  br i1 %more, label %look, label %replace
replace:
  %turn = atomicrmw add ptr @lend.turn, i64 1 monotonic
  %which = urem i64 %turn, $SLOTS
  %offset2 = mul i64 %which, $SLOT_BYTES
  %slot2 = getelementptr i8, ptr @lend.slots, i64 %offset2
  %old = atomicrmw xchg ptr %slot2, ptr %block acq_rel
  %none = icmp eq ptr %old, null
  br i1 %none, label %note, label %drop
drop:
  call void @lend.drop(ptr %old)
  br label %note
note:
  %into = phi ptr [ %slot, %try ], [ %slot2, %replace ], [ %slot2, %drop ]
  %hint.at = getelementptr i8, ptr %into, i64 8
  store atomic i64 %capacity, ptr %hint.at monotonic, align 8
  ret void
}

; A block for %bytes that a slot holds, and that is not much larger; it counts as kept no more. Null if there is none.
define internal ptr @lend.take(i64 %bytes) nounwind {
entry:
  %quarter = lshr i64 %bytes, 2
  %spare = add i64 %quarter, $ROUNDING
  %most = add i64 %bytes, %spare
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %offset = mul i64 %k, $SLOT_BYTES
  %slot = getelementptr i8, ptr @lend.slots, i64 %offset
  %hint.at = getelementptr i8, ptr %slot, i64 8
  %hint = load atomic i64, ptr %hint.at monotonic, align 8
  %enough = icmp uge i64 %hint, %bytes
  %near = icmp ule i64 %hint, %most
  %fits = and i1 %enough, %near
  br i1 %fits, label %peek, label %next
peek:
  %there = load atomic ptr, ptr %slot monotonic, align 8
  %some = icmp ne ptr %there, null
  br i1 %some, label %try, label %next
try:
  %block = atomicrmw xchg ptr %slot, ptr null acquire
  %got = icmp ne ptr %block, null
  br i1 %got, label %check, label %next
check:
  %capacity.at = getelementptr i8, ptr %block, i64 $CAPACITY
  %capacity = load i64, ptr %capacity.at
  %truly.enough = icmp uge i64 %capacity, %bytes
  %truly.near = icmp ule i64 %capacity, %most
  %good = and i1 %truly.enough, %truly.near
  br i1 %good, label %take, label %back
back:
  call void @lend.put(ptr %block)
  br label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, $SLOTS
  br i1 %more, label %look, label %none
take:
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  %mapped = load i64, ptr %mapped.at
  %unused = atomicrmw sub ptr @lend_memory_kept, i64 %mapped monotonic
  ret ptr %block
none:
  ret ptr null
}

; Unmap a kept block; gives whether there was one.
define internal i1 @lend.evict() nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %turn = atomicrmw add ptr @lend.turn, i64 1 monotonic
  %which = urem i64 %turn, $SLOTS
  %offset = mul i64 %which, $SLOT_BYTES
  %slot = getelementptr i8, ptr @lend.slots, i64 %offset
  %there = load atomic ptr, ptr %slot monotonic, align 8
  %some = icmp ne ptr %there, null
  br i1 %some, label %try, label %next
try:
  %block = atomicrmw xchg ptr %slot, ptr null acquire
  %got = icmp ne ptr %block, null
  br i1 %got, label %drop, label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, $SLOTS
  br i1 %more, label %look, label %none
drop:
  call void @lend.drop(ptr %block)
  ret i1 true
none:
  ret i1 false
}

define void @lend_memory_trim() nounwind {
entry:
  br label %again
again:
  %some = call i1 @lend.evict()
  br i1 %some, label %again, label %done
done:
  ret void
}

; %length bytes of zeros from the system, at a multiple of 2 MiB if they are %huge; null if there are none.
define internal ptr @lend.map(i64 %length, i1 %huge) nounwind {
entry:
  %extra = select i1 %huge, i64 $HUGE_PAGE, i64 0
  %whole = add i64 %length, %extra
  %first = call ptr @mmap(ptr null, i64 %whole, i32 3, i32 $ANONYMOUS, i32 -1, i64 0)
  %failed = icmp eq ptr %first, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %none, label %mapped
mapped:
  br i1 %huge, label %trim, label %plain
plain:
  ret ptr %first
trim:
  %start = ptrtoint ptr %first to i64
  %up = add i64 %start, $HUGE_MASK
  %aligned = and i64 %up, -$HUGE_PAGE
  %front = sub i64 %aligned, %start
  %is.front = icmp ne i64 %front, 0
  br i1 %is.front, label %cut.front, label %behind
cut.front:
  %u1 = call i32 @munmap(ptr %first, i64 %front)
  br label %behind
behind:
  %mapping = inttoptr i64 %aligned to ptr
  %back = sub i64 $HUGE_PAGE, %front
  %end = getelementptr i8, ptr %mapping, i64 %length
  %u2 = call i32 @munmap(ptr %end, i64 %back)
  %u3 = call i32 @madvise(ptr %mapping, i64 %length, i32 $ADVICE)
  ret ptr %mapping
none:
  ret ptr null
}

; A new block with a mapping of its own.
define internal ptr @lend.make(i64 %bytes) nounwind {
entry:
  %too.large = icmp ugt i64 %bytes, 140737488355328
  br i1 %too.large, label %none, label %size
size:
  %number = atomicrmw add ptr @lend.colour, i64 1 monotonic
  %colour = urem i64 %number, $COLOURS
  %shift = mul i64 %colour, $COLOUR_BYTES
  %front = add i64 %shift, $LINE
  %needed = add i64 %bytes, %front
  %over = add i64 %needed, $PAGE_MASK
  %length = and i64 %over, -$PAGE
  %huge = icmp uge i64 %bytes, $HUGE
  %first = call ptr @lend.map(i64 %length, i1 %huge)
  %failed = icmp eq ptr %first, null
  br i1 %failed, label %again, label %mapped
again:
  call void @lend_memory_trim()
  %second = call ptr @lend.map(i64 %length, i1 %huge)
  %failed2 = icmp eq ptr %second, null
  br i1 %failed2, label %none, label %mapped
mapped:
  %mapping = phi ptr [ %first, %size ], [ %second, %again ]
  %block = getelementptr i8, ptr %mapping, i64 %front
  %base.at = getelementptr i8, ptr %block, i64 $BASE
  store ptr %mapping, ptr %base.at
  %capacity = sub i64 %length, %front
  %capacity.at = getelementptr i8, ptr %block, i64 $CAPACITY
  store i64 %capacity, ptr %capacity.at
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  store i64 %length, ptr %mapped.at
  ret ptr %block
none:
  ret ptr null
}

define internal void @lend.clear.pieces(ptr %env, i64 %begin, i64 %end) nounwind {
  %block = load ptr, ptr %env
  %bytes.at = getelementptr i8, ptr %env, i64 8
  %bytes = load i64, ptr %bytes.at
  %from = mul i64 %begin, $PIECE
  %to = mul i64 %end, $PIECE
  %stop = call i64 @llvm.umin.i64(i64 %to, i64 %bytes)
  %length = sub i64 %stop, %from
  %start = getelementptr i8, ptr %block, i64 %from
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %length, i1 false)
  ret void
}

define internal void @lend.clear(ptr %block, i64 %bytes) nounwind {
  %env = alloca [2 x i64], align 8
  store ptr %block, ptr %env
  %bytes.at = getelementptr i8, ptr %env, i64 8
  store i64 %bytes, ptr %bytes.at
  %over = add i64 %bytes, $PIECE_MASK
  %pieces = udiv i64 %over, $PIECE
  call void @lend_parallel_for(ptr @lend.clear.pieces, ptr %env, i64 %pieces, i64 1)
  ret void
}

define ptr @lend_allocate(i64 %bytes, i32 %zeroed) nounwind {
entry:
  %large = icmp uge i64 %bytes, $LARGE
  br i1 %large, label %pool, label %small
small:
  %little = call ptr @lend.small(i64 %bytes, i32 %zeroed)
  ret ptr %little
pool:
  %kept = call ptr @lend.take(i64 %bytes)
  %some = icmp ne ptr %kept, null
  br i1 %some, label %used, label %make
used:
  %clear = icmp ne i32 %zeroed, 0
  br i1 %clear, label %zeros, label %ready
zeros:
  call void @lend.clear(ptr %kept, i64 %bytes)
  br label %ready
ready:
  ret ptr %kept
make:
  %new = call ptr @lend.make(i64 %bytes)
  ret ptr %new
}

define void @lend_free(ptr %block) nounwind {
entry:
  %mapped.at = getelementptr i8, ptr %block, i64 $MAPPED
  %mapped = load i64, ptr %mapped.at
  %small = icmp eq i64 %mapped, 0
  br i1 %small, label %little, label %large
little:
  %base.at = getelementptr i8, ptr %block, i64 $BASE
  %base = load ptr, ptr %base.at
  call void @free(ptr %base)
  ret void
large:
  %limit = load atomic i64, ptr @lend_memory_limit monotonic, align 8
  %possible = icmp ule i64 %mapped, %limit
  br i1 %possible, label %count, label %unmap
unmap:
  call void @lend.unmap(ptr %block)
  ret void
count:
  %before = atomicrmw add ptr @lend_memory_kept, i64 %mapped monotonic
  br label %room
room:
  %now = load atomic i64, ptr @lend_memory_kept monotonic, align 8
  %full = icmp ugt i64 %now, %limit
  br i1 %full, label %evict, label %put
evict:
  %evicted = call i1 @lend.evict()
  br i1 %evicted, label %room, label %give.up
give.up:
  call void @lend.drop(ptr %block)
  ret void
put:
  call void @lend.put(ptr %block)
  ret void
}
"""


def memory_ir(anonymous: int | None) -> str:
    """The module. `anonymous`: the flags of a private mapping without a file; None where blocks are the C library's."""
    text = _HEAD + (_PLAIN if anonymous is None else _POOLED)
    numbers = {
        "WORDS": SLOTS * SLOT_BYTES // 8, "SLOT_BYTES": SLOT_BYTES, "SLOTS": SLOTS, "LARGE": LARGE, "HUGE_PAGE": HUGE_PAGE,
        "HUGE_MASK": HUGE_PAGE - 1, "HUGE": HUGE, "ROUNDING": 2 * PAGE, "PAGE_MASK": PAGE - 1, "PAGE": PAGE, "LINE": LINE,
        "COLOUR_BYTES": COLOUR_BYTES, "COLOURS": COLOURS, "PIECE_MASK": PIECE - 1, "PIECE": PIECE, "BASE": BASE,
        "CAPACITY": CAPACITY, "MAPPED": MAPPED, "ANONYMOUS": anonymous or 0, "ADVICE": _MADV_HUGEPAGE,
    }  # fmt: skip
    for name in sorted(numbers, key=len, reverse=True):
        text = text.replace(f"${name}", str(numbers[name]))
    return text
