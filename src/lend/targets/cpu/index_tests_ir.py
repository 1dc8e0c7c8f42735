"""The code that tests index arrays, as LLVM IR text.

Does: `i32 lend_test(ptr elements, i64 count, i64 limit)` for one kind of index array and one width: whether `count` unsigned
elements, side by side, at least one, are at most `limit` ("index"), and never fall ("offsets"), or differ ("unique").
For "unique", `lend_distinct` is the same with bits for sparse elements too.
Does not: know layouts, dtypes or words for what is wrong (`driver/index_arrays.py`).

How it works. "index" and "offsets" are one parallel read. "unique" looks at the first elements: if they ascend, so may all, which
is one read as well. If not, a bit is set for each element, in rows of bits of which a thread has one to itself while it works
on a piece of the array; there must be as many bits, in all rows together, as elements. No bit is tested before it is set, which
would double the time.

Invariants: the answer is `GOOD`, `WRONG`, or `OPEN` for elements of "unique" that are too sparse for bits, or if there is no
memory for those. Elements are read only, and each once where bits are set, so that whoever changes them meanwhile gets some
answer, and no bit is set outside the rows.
"""

from __future__ import annotations

import re

WRONG, GOOD, OPEN = 0, 1, 2

PIECE_BYTES = 1 << 14
"""Arrays are divided into pieces of so many bytes."""

CHUNK = 8
"""Pieces that a thread takes at once."""

SAMPLE = 1 << 10
"""So many elements are looked at to see whether looking for an ascending order is worth while."""

SPARSE = 64
"""With more possible values for each element, there are no bits."""

MARKED = 1 << 15
"""So many elements have their bits set with one row."""

ELEMENTS, COUNT, LIMIT, BAD, ROWS, WORDS, PARTS, TOTAL, FREE = range(0, 72, 8)
"""Offsets in what the regions get; `FREE` has a bit for each row that nobody uses."""

_COMMON = """
declare void @lend_parallel_for(ptr, ptr, i64, i64)
declare i$W @llvm.umax.i$W(i$W, i$W)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

; Whether one of %n > 0 elements is above the limit.
define internal i1 @lend.above(ptr readonly %x, i64 %n, i$W %limit) nounwind {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %top = phi i$W [ 0, %entry ], [ %top.next, %loop ]
  %at = getelementptr i$W, ptr %x, i64 %k
  %value = load i$W, ptr %at, align 1
  %top.next = call i$W @llvm.umax.i$W(i$W %top, i$W %value)
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
done:
  %above = icmp ugt i$W %top.next, %limit
  ret i1 %above
}

; Whether one of %n > 0 elements is followed by a smaller one (or, if they must rise, by an equal one).
define internal i1 @lend.falls(ptr readonly %x, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %rises = phi i1 [ true, %entry ], [ %rises.next, %loop ]
  %at = getelementptr i$W, ptr %x, i64 %k
  %value = load i$W, ptr %at, align 1
  %k.next = add nuw i64 %k, 1
  %next.at = getelementptr i$W, ptr %x, i64 %k.next
  %following = load i$W, ptr %next.at, align 1
  %rise = icmp $RISES i$W %value, %following
  %rises.next = and i1 %rises, %rise  ; with AVX-512 the comparison is this too
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
done:
  %found = xor i1 %rises.next, true
  ret i1 %found
}

; Run a region over %count elements of the environment, piece by piece; gives whether one was bad.
define internal i1 @lend.pieces(ptr %region, ptr %env, i64 %count, i64 %each, i64 %chunk) noinline nounwind {
entry:
  %over = add i64 %count, %each
  %less = sub i64 %over, 1
  %pieces = udiv i64 %less, %each
  %single = icmp ule i64 %pieces, %chunk
  br i1 %single, label %here, label %pool
here:
  call void %region(ptr %env, i64 0, i64 %pieces)
  br label %done
pool:
  call void @lend_parallel_for(ptr %region, ptr %env, i64 %pieces, i64 %chunk)
  br label %done
done:
  %bad.at = getelementptr i8, ptr %env, i64 $BAD
  %bad = load atomic i64, ptr %bad.at monotonic, align 8
  %found = icmp ne i64 %bad, 0
  ret i1 %found
}
"""

_REGION = """
define internal void @lend.$NAME.region(ptr %env, i64 %begin, i64 %end) nounwind {
entry:
  %bad.at = getelementptr i8, ptr %env, i64 $BAD
  %bad = load atomic i64, ptr %bad.at monotonic, align 8
  %go = icmp eq i64 %bad, 0
  br i1 %go, label %look, label %done
look:
  %x = load ptr, ptr %env, align 8
  %count.at = getelementptr i8, ptr %env, i64 $COUNT
  %count = load i64, ptr %count.at, align 8
  %from = mul i64 %begin, $EACH
  %up = mul i64 %end, $EACH
  %to = call i64 @llvm.umin.i64(i64 %up, i64 %count)
  %n = sub i64 %to, %from
  %first = getelementptr i$W, ptr %x, i64 %from
  $LOOK
  br i1 %wrong, label %report, label %done
report:
  store atomic i64 1, ptr %bad.at monotonic, align 8
  br label %done
done:
  ret void
}
"""

_ABOVE = """%limit.at = getelementptr i8, ptr %env, i64 $LIMIT
  %limit64 = load i64, ptr %limit.at, align 8
  %limit = trunc i64 %limit64 to i$W
  %wrong = call i1 @lend.above(ptr %first, i64 %n, i$W %limit)"""

_FALLS = "%wrong = call i1 @lend.falls(ptr %first, i64 %n)"

_BEGIN = """
define i32 @lend_test(ptr %x, i64 %count, i64 %limit) nounwind {
entry:
  %env = alloca [9 x i64], align 8
  store ptr %x, ptr %env, align 8
  %limit.at = getelementptr i8, ptr %env, i64 $LIMIT
  store i64 %limit, ptr %limit.at, align 8
  %bad.at = getelementptr i8, ptr %env, i64 $BAD
  store i64 0, ptr %bad.at, align 8
  %count.at = getelementptr i8, ptr %env, i64 $COUNT
  %last.place = sub i64 %count, 1
  %last.at = getelementptr i$W, ptr %x, i64 %last.place
  %lastw = load i$W, ptr %last.at, align 1
  %last = $WIDEN %lastw to i64
  %last.fits = icmp ule i64 %last, %limit
"""

_INDEX = (
    _BEGIN
    + """  store i64 %count, ptr %count.at, align 8
  %bad = call i1 @lend.pieces(ptr @lend.index.region, ptr %env, i64 %count, i64 $EACH, i64 $CHUNK)
  %verdict = select i1 %bad, i32 $WRONG, i32 $GOOD
  ret i32 %verdict
}
"""
)

_OFFSETS = (
    _BEGIN
    + """  br i1 %last.fits, label %inside, label %wrong
inside:
  %several = icmp ugt i64 %count, 1
  br i1 %several, label %look, label %good
look:
  store i64 %last.place, ptr %count.at, align 8
  %bad = call i1 @lend.pieces(ptr @lend.offsets.region, ptr %env, i64 %last.place, i64 $EACH, i64 $CHUNK)
  br i1 %bad, label %wrong, label %good
good:
  ret i32 $GOOD
wrong:
  ret i32 $WRONG
}
"""
)

_SET = """load.$K:
  %place.$K = add i64 $J, $STEP
  %at.$K = getelementptr i$W, ptr %x, i64 %place.$K
  %valuew.$K = load i$W, ptr %at.$K, align 1
  %above.$K = icmp ugt i$W %valuew.$K, %limitw
  br i1 %above.$K, label %report, label %set.$K
set.$K:
  %value.$K = $WIDEN %valuew.$K to i64
  %which.$K = lshr i64 %value.$K, 6
  %word.at.$K = getelementptr i64, ptr %row, i64 %which.$K
  %word.$K = load i64, ptr %word.at.$K, align 8
  %low.$K = and i64 %value.$K, 63
  %bit.$K = shl nuw i64 1, %low.$K
  %with.$K = or i64 %word.$K, %bit.$K
  store i64 %with.$K, ptr %word.at.$K, align 8
"""
"""Set the bit of the element $STEP behind $J."""


def _set(number: int, index: str, step: int, following: str = "") -> str:
    text = _SET.replace("$K", str(number)).replace("$J", index).replace("$STEP", str(step))
    return text + (f"  br label %{following}\n" if following else "")


_MARK = """
; Set the bits of the elements of pieces.
define internal void @lend.mark.region(ptr %env, i64 %begin, i64 %end) nounwind {
entry:
  %x = load ptr, ptr %env, align 8
  %count.at = getelementptr i8, ptr %env, i64 $COUNT
  %count = load i64, ptr %count.at, align 8
  %limit.at = getelementptr i8, ptr %env, i64 $LIMIT
  %limit = load i64, ptr %limit.at, align 8
  %limitw = trunc i64 %limit to i$W
  %rows.at = getelementptr i8, ptr %env, i64 $ROWS
  %rows = load ptr, ptr %rows.at, align 8
  %words.at = getelementptr i8, ptr %env, i64 $WORDS
  %words = load i64, ptr %words.at, align 8
  %bad.at = getelementptr i8, ptr %env, i64 $BAD
  %free.at = getelementptr i8, ptr %env, i64 $FREE
  br label %wait
wait:
  %free = load atomic i64, ptr %free.at monotonic, align 8
  %some = icmp ne i64 %free, 0
  br i1 %some, label %try, label %wait
try:
  %lowest = sub i64 %free, 1
  %without = and i64 %free, %lowest
  %exchange = cmpxchg ptr %free.at, i64 %free, i64 %without acquire monotonic
  %got = extractvalue { i64, i1 } %exchange, 1
  br i1 %got, label %start, label %wait
start:
  %number = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %row.offset = mul i64 %number, %words
  %row = getelementptr i64, ptr %rows, i64 %row.offset
  %first = mul i64 %begin, $MARKED
  %up = mul i64 %end, $MARKED
  %to = call i64 @llvm.umin.i64(i64 %up, i64 %count)
  br label %head
head:
  %k = phi i64 [ %first, %start ], [ %stop, %one ]
  %left = icmp ult i64 %k, %to
  br i1 %left, label %piece, label %release
piece:
  %bad = load atomic i64, ptr %bad.at monotonic, align 8
  %go = icmp eq i64 %bad, 0
  br i1 %go, label %measure, label %release
measure:
  %over = add i64 %k, $EACH
  %stop = call i64 @llvm.umin.i64(i64 %over, i64 %to)
  %n = sub i64 %stop, %k
  %rest = urem i64 %n, $STEPS
  %whole = sub i64 %stop, %rest
  br label %line
line:
  %t = phi i64 [ %k, %measure ], [ %t.next, %set.$LAST ]
  %go.on = icmp ult i64 %t, %whole
  br i1 %go.on, label %load.0, label %one
$LINE  %t.next = add i64 %t, $STEPS
  %far = getelementptr i8, ptr %at.0, i64 $AHEAD
  call void @llvm.prefetch.p0(ptr %far, i32 0, i32 0, i32 1)  ; elements must not drive bits out of the second cache
  br label %line
one:
  %j = phi i64 [ %whole, %line ], [ %j.next, %set.$STEPS ]
  %more = icmp ult i64 %j, %stop
  br i1 %more, label %load.$STEPS, label %head
$ONE  %j.next = add i64 %j, 1
  br label %one
report:
  store atomic i64 1, ptr %bad.at monotonic, align 8
  br label %release
release:
  %mine = shl nuw i64 1, %number
  %unused = atomicrmw or ptr %free.at, i64 %mine release
  ret void
}

; Unite the rows in the first one and count the bits, for pieces of $EACH_WORDS words.
define internal void @lend.count.region(ptr %env, i64 %begin, i64 %end) nounwind {
entry:
  %rows.at = getelementptr i8, ptr %env, i64 $ROWS
  %rows = load ptr, ptr %rows.at, align 8
  %words.at = getelementptr i8, ptr %env, i64 $WORDS
  %words = load i64, ptr %words.at, align 8
  %parts.at = getelementptr i8, ptr %env, i64 $PARTS
  %parts = load i64, ptr %parts.at, align 8
  br label %piece
piece:
  %b = phi i64 [ %begin, %entry ], [ %b.next, %counted ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %counted ]
  %from = mul i64 %b, $EACH_WORDS
  %b.next = add i64 %b, 1
  %up = mul i64 %b.next, $EACH_WORDS
  %to = call i64 @llvm.umin.i64(i64 %up, i64 %words)
  %n = sub i64 %to, %from
  %base = getelementptr i64, ptr %rows, i64 %from
  br label %row
row:
  %p = phi i64 [ 1, %piece ], [ %p.next, %united ]
  %is.row = icmp ult i64 %p, %parts
  br i1 %is.row, label %unite.begin, label %count
unite.begin:
  %other.offset = mul i64 %p, %words
  %other = getelementptr i64, ptr %base, i64 %other.offset
  br label %unite
unite:
  %k = phi i64 [ 0, %unite.begin ], [ %k.next, %unite ]
  %into.at = getelementptr i64, ptr %base, i64 %k
  %into = load i64, ptr %into.at, align 8, !alias.scope !1, !noalias !2
  %from.at = getelementptr i64, ptr %other, i64 %k
  %more.bits = load i64, ptr %from.at, align 8, !alias.scope !2, !noalias !1
  %both = or i64 %into, %more.bits
  store i64 %both, ptr %into.at, align 8, !alias.scope !1, !noalias !2
  %k.next = add nuw i64 %k, 1
  %unite.more = icmp ult i64 %k.next, %n
  br i1 %unite.more, label %unite, label %united
united:
  %p.next = add i64 %p, 1
  br label %row
count:
  br label %pop
pop:
  %j = phi i64 [ 0, %count ], [ %j.next, %pop ]
  %bits = phi i64 [ %sum, %count ], [ %bits.next, %pop ]
  %at = getelementptr i64, ptr %base, i64 %j
  %word = load i64, ptr %at, align 8
  %set = call i64 @llvm.ctpop.i64(i64 %word)
  %bits.next = add i64 %bits, %set
  %j.next = add nuw i64 %j, 1
  %more = icmp ult i64 %j.next, %n
  br i1 %more, label %pop, label %counted
counted:
  %sum.next = add i64 %bits.next, 0
  %again = icmp ult i64 %b.next, %end
  br i1 %again, label %piece, label %done
done:
  %total.at = getelementptr i8, ptr %env, i64 $TOTAL
  %unused = atomicrmw add ptr %total.at, i64 %sum.next monotonic
  ret void
}

!0 = distinct !{!0}
!3 = distinct !{!3, !0}
!4 = distinct !{!4, !0}
!1 = !{!3}
!2 = !{!4}
"""

_UNIQUE = (
    """
declare noalias ptr @lend_allocate(i64, i32) nounwind
declare void @lend_free(ptr) nounwind
declare i64 @lend_thread_count() nounwind
"""
    + _BEGIN.replace(
        "i32 @lend_test(ptr %x, i64 %count, i64 %limit)", "internal i32 @lend.unique(ptr %x, i64 %count, i64 %limit, i1 %always)"
    )
    + """  %possible = icmp ule i64 %last.place, %limit
  br i1 %possible, label %sample, label %wrong
sample:
  %several = icmp ugt i64 %count, 1
  br i1 %several, label %looks, label %ascends
looks:
  %few = call i64 @llvm.umin.i64(i64 %last.place, i64 $SAMPLE)
  %falls = call i1 @lend.falls(ptr %x, i64 %few)
  br i1 %falls, label %bits, label %look
look:
  store i64 %last.place, ptr %count.at, align 8
  %fall = call i1 @lend.pieces(ptr @lend.offsets.region, ptr %env, i64 %last.place, i64 $EACH, i64 $CHUNK)
  br i1 %fall, label %bits, label %ascends
ascends:
  %ascending = select i1 %last.fits, i32 $GOOD, i32 $WRONG
  ret i32 %ascending
bits:
  %needed = lshr i64 %limit, 6
  %many = icmp ugt i64 %needed, %count
  %some = xor i1 %always, true
  %sparse = and i1 %many, %some
  br i1 %sparse, label %open, label %rows
rows:
  store i64 %count, ptr %count.at, align 8
  store i64 0, ptr %bad.at, align 8
  %needed.more = add i64 %needed, 8
  %words = and i64 %needed.more, -8
  %words.at = getelementptr i8, ptr %env, i64 $WORDS
  store i64 %words, ptr %words.at, align 8
  %threads = call i64 @lend_thread_count()
  %dense = udiv i64 %count, %words
  %dense.more = add i64 %dense, 1
  %most = call i64 @llvm.umin.i64(i64 %dense.more, i64 64)
  %small = icmp ule i64 %count, $MARKED
  %rows.most = select i1 %small, i64 1, i64 %most
  %parts = call i64 @llvm.umin.i64(i64 %threads, i64 %rows.most)
  %unused.bits = sub i64 64, %parts
  %free = lshr i64 -1, %unused.bits
  %free.at = getelementptr i8, ptr %env, i64 $FREE
  store i64 %free, ptr %free.at, align 8
  %share = udiv i64 %count, %parts
  %share.pieces = udiv i64 %share, $MARKED
  %share.chunk = add i64 %share.pieces, 1
  %enough = icmp uge i64 %parts, %threads
  %chunk = select i1 %enough, i64 1, i64 %share.chunk
  %parts.at = getelementptr i8, ptr %env, i64 $PARTS
  store i64 %parts, ptr %parts.at, align 8
  %total.at = getelementptr i8, ptr %env, i64 $TOTAL
  store i64 0, ptr %total.at, align 8
  %all = mul i64 %words, %parts
  %bytes = shl i64 %all, 3
  %memory = call ptr @lend_allocate(i64 %bytes, i32 1)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %open, label %mark
mark:
  %rows.at = getelementptr i8, ptr %env, i64 $ROWS
  store ptr %memory, ptr %rows.at, align 8
  %outside = call i1 @lend.pieces(ptr @lend.mark.region, ptr %env, i64 %count, i64 $MARKED, i64 %chunk)
  br i1 %outside, label %over, label %count.bits
count.bits:
  %unused = call i1 @lend.pieces(ptr @lend.count.region, ptr %env, i64 %words, i64 $EACH_WORDS, i64 $CHUNK)
  br label %over
over:
  call void @lend_free(ptr %memory)
  %total = load i64, ptr %total.at, align 8
  %all.there = icmp eq i64 %total, %count
  %verdict = select i1 %all.there, i32 $GOOD, i32 $WRONG
  ret i32 %verdict
wrong:
  ret i32 $WRONG
open:
  ret i32 $OPEN
}

define i32 @lend_test(ptr %x, i64 %count, i64 %limit) nounwind {
  %verdict = call i32 @lend.unique(ptr %x, i64 %count, i64 %limit, i1 false)
  ret i32 %verdict
}

define i32 @lend_distinct(ptr %x, i64 %count, i64 %limit) nounwind {
  %verdict = call i32 @lend.unique(ptr %x, i64 %count, i64 %limit, i1 true)
  ret i32 %verdict
}
"""
)

EACH_WORDS = 512
AHEAD = 1024


def index_test_ir(kind: str, bits: int) -> str:
    """The module for a kind of index array ("index", "offsets", "unique") of elements of so many bits."""
    text = _COMMON
    if kind == "index":
        text += _REGION.replace("$LOOK", _ABOVE).replace("$NAME", "index") + _INDEX
    else:
        text += _REGION.replace("$LOOK", _FALLS).replace("$NAME", "offsets")
        steps = min(512 // bits, 16)  # a line of the cache
        line = "".join(_set(k, "%t", k, f"load.{k + 1}" if k < steps - 1 else "") for k in range(steps))
        mark = _MARK.replace("$LINE", line).replace("$ONE", _set(steps, "%j", 0))
        mark = mark.replace("$STEPS", str(steps)).replace("$LAST", str(steps - 1))
        text += _OFFSETS if kind == "offsets" else _UNIQUE + mark
    values = {
        "W": bits, "RISES": "ult" if kind == "unique" else "ule", "WIDEN": "zext i" + str(bits),
        "EACH": PIECE_BYTES * 8 // bits, "EACH_WORDS": EACH_WORDS, "CHUNK": CHUNK, "SAMPLE": SAMPLE, "MARKED": MARKED,
        "COUNT": COUNT, "LIMIT": LIMIT, "BAD": BAD, "ROWS": ROWS, "WORDS": WORDS, "PARTS": PARTS, "TOTAL": TOTAL,
        "GOOD": GOOD, "WRONG": WRONG, "OPEN": OPEN, "FREE": FREE, "AHEAD": AHEAD,
    }  # fmt: skip
    if bits == 64:  # a conversion must change the width
        text = re.sub(r"(?:\$WIDEN|trunc i64) (%[\w.]+) to (?:i64|i\$W)", r"add i64 \1, 0", text)
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(f"${name}", str(values[name]))
    return text
