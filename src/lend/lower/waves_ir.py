"""The code that runs phases in waves, as LLVM IR text; `waves.py` calls it.

Does: decide how many steps wait for each other and how they are cut (`lend_wave_open`); run the phases that are due
(`lend_wave_flush`).  Does not: know kernels, for all of which it is one code; everything it needs stands in the queue and
in a table of distances.

How it works. The queue holds phases in the order of the program. Each gets an offset ("skew") so large that all that a row
needs of an earlier phase lies no further on: row + skew counts the places of a sweep. A sweep goes on by a few places at a
time, and at each runs those rows of every phase, earlier phases first. So all is done in an order that keeps each dependence,
and between two uses of a row lie only as many others as the skews are wide.

For several threads the places are cut into bands. First every band runs as much as needs no other band: on its right a phase
ends at the band's end (its skew moves it to the left already), on its left it begins `deep` places later, where `deep` is the
skew plus the "lag" that dependences on rows further back add. Then what is left of them, one piece at the left end of each band
but the first, which needs the bands on both of its sides and no other piece. Columns are cut into blocks that run one after
another, each phase moved to the left by a skew of its own along columns.

Invariants: every iteration of every phase runs once, and two that touch one element, one of them writing, run in the order of
the program. How bands, blocks and sweeps are cut changes no result. Bands are at least as wide as `deep` of the last phase.
"""

from __future__ import annotations

CAPACITY = 64
"""Phases that can wait."""
MOST_STEPS = 16
BANDS = 4
"""Bands of one flush per thread, at most."""
GAIN = 64
LEAST_GAIN = 96
"""How many times less data has to come from memory for waves to pay, times `GAIN`."""
SWEEP = 2048
"""Iterations that a sweep goes on by, at least, where a row has fewer."""
LEAST_ROW = 256
"""Iterations of a row that is cut into blocks, at least."""
NEVER = -(1 << 40)
"""In the table of distances: the two never meet."""
PART = 3
"""Waves pay for arrays larger than this part of the last cache, which is slower than the private ones (measured)."""
MOST_BYTES = 1 << 46
"""More is no memory that exists: a box that is mostly skipped."""
FARTHEST = 1 << 60
"""Coordinates beyond this are left alone: sums of a few others do not wrap."""

# The queue: words of 8 bytes.
COUNT, LIMIT, STEP, WIDTH, LOW, HIGH, BAND, LEFT, RIGHT, DEEP = range(10)
HEADER = 16
REGION, ENV, FIRST, LAST, ROW, BEGIN, END, COLUMN, PHASE, SKEW, LAG, SHIFT, DEPTH = range(13)
ENTRY = 16
QUEUE_WORDS = HEADER + CAPACITY * ENTRY

_TEXT = """
declare i64 @lend_cache_bytes(i64)
declare i64 @lend_thread_count()
declare void @lend_parallel_now(ptr, ptr, i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define internal i64 @lend.wave.get(ptr %block, i64 %word) alwaysinline nounwind {
  %at = getelementptr i64, ptr %block, i64 %word
  %value = load i64, ptr %at, align 8
  ret i64 %value
}

define internal void @lend.wave.set(ptr %block, i64 %word, i64 %value) alwaysinline nounwind {
  %at = getelementptr i64, ptr %block, i64 %word
  store i64 %value, ptr %at, align 8
  ret void
}

; With an empty queue: how many phases are to wait, 0 if waves do not pay. Of a phase of `iterations` in all, with `rows` rows of
; `row` iterations, in `columns` columns of `column`; `bytes`: of its arrays; `skew`, `deep`, `shift`: what a step adds to these;
; `phases`: in a step; `steps`: of the loop, at most.
define i64 @lend_wave_open(ptr %queue, i64 %bytes, i64 %iterations, i64 %rows, i64 %row, i64 %columns, i64 %column,
    i64 %skew, i64 %deep, i64 %shift, i64 %phases, i64 %all) noinline optsize nounwind {
entry:
  call void @lend.wave.set(ptr %queue, i64 $LIMIT, i64 0)
  %threads = call i64 @lend_thread_count()
  %last = call i64 @lend_cache_bytes(i64 3)
  %near = udiv i64 %last, $PART
  %large = icmp sgt i64 %bytes, %near
  %real = icmp slt i64 %bytes, $MOST_BYTES
  %short = icmp ult i64 %iterations, $MOST_BYTES
  %sane = and i1 %real, %short
  %candidate = and i1 %large, %sane
  br i1 %candidate, label %choose, label %no
choose:
  %room = udiv i64 $CAPACITY, %phases
  %most.1 = call i64 @llvm.smin.i64(i64 %room, i64 $MOST_STEPS)
  %most = call i64 @llvm.smin.i64(i64 %most.1, i64 %all)
  %depth = call i64 @llvm.smax.i64(i64 %deep, i64 1)
  %depth.2 = shl i64 %depth, 1
  %piece = mul i64 %depth.2, %threads
  %fit = udiv i64 %rows, %piece
  %first = call i64 @llvm.smin.i64(i64 %most, i64 %fit)
  %share = udiv i64 %bytes, %iterations
  %each = call i64 @llvm.smax.i64(i64 %share, i64 1)
  %step.few = udiv i64 $SWEEP, %row
  %step = call i64 @llvm.smax.i64(i64 %step.few, i64 1)
  %cache = call i64 @lend_cache_bytes(i64 2)
  %quarter = lshr i64 %cache, 2
  %share.cache = sub i64 %cache, %quarter
  %unit = mul i64 %each, %column
  br label %try
try:
  %steps = phi i64 [ %first, %choose ], [ %fewer, %measured ]
  %best = phi i64 [ $LEAST_GAIN, %choose ], [ %best.next, %measured ]
  %best.steps = phi i64 [ 0, %choose ], [ %best.steps.next, %measured ]
  %best.width = phi i64 [ 0, %choose ], [ %best.width.next, %measured ]
  %some = icmp sgt i64 %steps, 1
  br i1 %some, label %measure, label %settle
measure:
  %wide = mul i64 %skew, %steps
  %wider = add i64 %wide, %step
  %window = add i64 %wider, 2
  %window.bytes = mul i64 %window, %unit
  %width = udiv i64 %share.cache, %window.bytes
  %whole = icmp sge i64 %width, %columns
  %gain.whole = mul i64 %steps, $GAIN
  br i1 %whole, label %measured, label %cut
cut:
  %piece.row = mul i64 %width, %column
  %long = icmp sge i64 %piece.row, $LEAST_ROW
  %moved = mul i64 %shift, %steps
  %loaded = add i64 %width, %moved
  %used = mul i64 %gain.whole, %width
  %loaded.1 = call i64 @llvm.smax.i64(i64 %loaded, i64 1)
  %gain.cut = udiv i64 %used, %loaded.1
  %gain.long = select i1 %long, i64 %gain.cut, i64 0
  br label %measured
measured:
  %gain = phi i64 [ %gain.whole, %measure ], [ %gain.long, %cut ]
  %blocks = phi i64 [ $FARTHEST, %measure ], [ %width, %cut ]
  %better = icmp sgt i64 %gain, %best
  %best.next = select i1 %better, i64 %gain, i64 %best
  %best.steps.next = select i1 %better, i64 %steps, i64 %best.steps
  %best.width.next = select i1 %better, i64 %blocks, i64 %best.width
  %fewer = lshr i64 %steps, 1
  br label %try
settle:
  %any = icmp ne i64 %best.steps, 0
  br i1 %any, label %yes, label %no
yes:
  %up = add i64 %all, %best.steps
  %up.1 = sub i64 %up, 1
  %flushes = udiv i64 %up.1, %best.steps
  %up.2 = add i64 %all, %flushes
  %up.3 = sub i64 %up.2, 1
  %even = udiv i64 %up.3, %flushes
  %limit = mul i64 %even, %phases
  call void @lend.wave.set(ptr %queue, i64 $LIMIT, i64 %limit)
  call void @lend.wave.set(ptr %queue, i64 $STEP, i64 %step)
  call void @lend.wave.set(ptr %queue, i64 $WIDTH, i64 %best.width)
  ret i64 %limit
no:
  ret i64 0
}

; The offsets of each phase from those before it, and the places that all of them take together.
define internal void @lend.wave.place(ptr %queue, ptr %table, i64 %phases) noinline optsize nounwind {
entry:
  %count = call i64 @lend.wave.get(ptr %queue, i64 $COUNT)
  %entries = getelementptr i64, ptr %queue, i64 $HEADER
  %square = mul i64 %phases, %phases
  %behind = getelementptr i64, ptr %table, i64 %square
  %across = getelementptr i64, ptr %behind, i64 %square
  br label %one
one:
  %s = phi i64 [ 0, %entry ], [ %s.next, %placed ]
  %low = phi i64 [ $FARTHEST.4, %entry ], [ %low.next, %placed ]
  %high = phi i64 [ -$FARTHEST.4, %entry ], [ %high.next, %placed ]
  %left = phi i64 [ $FARTHEST.4, %entry ], [ %left.next, %placed ]
  %right = phi i64 [ -$FARTHEST.4, %entry ], [ %right.next, %placed ]
  %skew.last = phi i64 [ 0, %entry ], [ %skew, %placed ]
  %lag.last = phi i64 [ 0, %entry ], [ %lag, %placed ]
  %shift.last = phi i64 [ 0, %entry ], [ %shift, %placed ]
  %mine.at = mul i64 %s, $ENTRY
  %mine = getelementptr i64, ptr %entries, i64 %mine.at
  %phase = call i64 @lend.wave.get(ptr %mine, i64 $PHASE)
  br label %more
more:
  %r = phi i64 [ 0, %one ], [ %r.next, %earlier ]
  %skew = phi i64 [ %skew.last, %one ], [ %skew.next, %earlier ]
  %lag = phi i64 [ %lag.last, %one ], [ %lag.next, %earlier ]
  %shift = phi i64 [ %shift.last, %one ], [ %shift.next, %earlier ]
  %any = icmp slt i64 %r, %s
  br i1 %any, label %earlier, label %placed
earlier:
  %other.at = mul i64 %r, $ENTRY
  %other = getelementptr i64, ptr %entries, i64 %other.at
  %from = call i64 @lend.wave.get(ptr %other, i64 $PHASE)
  %line = mul i64 %from, %phases
  %place = add i64 %line, %phase
  %ahead.a = call i64 @lend.wave.get(ptr %table, i64 %place)
  %behind.a = call i64 @lend.wave.get(ptr %behind, i64 %place)
  %across.a = call i64 @lend.wave.get(ptr %across, i64 %place)
  %skew.o = call i64 @lend.wave.get(ptr %other, i64 $SKEW)
  %lag.o = call i64 @lend.wave.get(ptr %other, i64 $LAG)
  %shift.o = call i64 @lend.wave.get(ptr %other, i64 $SHIFT)
  %skew.n = add i64 %skew.o, %ahead.a
  %lag.n = add i64 %lag.o, %behind.a
  %shift.n = add i64 %shift.o, %across.a
  %skew.next = call i64 @llvm.smax.i64(i64 %skew, i64 %skew.n)
  %lag.next = call i64 @llvm.smax.i64(i64 %lag, i64 %lag.n)
  %shift.next = call i64 @llvm.smax.i64(i64 %shift, i64 %shift.n)
  %r.next = add i64 %r, 1
  br label %more
placed:
  call void @lend.wave.set(ptr %mine, i64 $SKEW, i64 %skew)
  call void @lend.wave.set(ptr %mine, i64 $LAG, i64 %lag)
  call void @lend.wave.set(ptr %mine, i64 $SHIFT, i64 %shift)
  %deep = add i64 %skew, %lag
  call void @lend.wave.set(ptr %mine, i64 $DEPTH, i64 %deep)
  %first = call i64 @lend.wave.get(ptr %mine, i64 $FIRST)
  %last = call i64 @lend.wave.get(ptr %mine, i64 $LAST)
  %begin = call i64 @lend.wave.get(ptr %mine, i64 $BEGIN)
  %end = call i64 @lend.wave.get(ptr %mine, i64 $END)
  %first.w = add i64 %first, %skew
  %last.w = add i64 %last, %skew
  %begin.w = add i64 %begin, %shift
  %end.w = add i64 %end, %shift
  %low.next = call i64 @llvm.smin.i64(i64 %low, i64 %first.w)
  %high.next = call i64 @llvm.smax.i64(i64 %high, i64 %last.w)
  %left.next = call i64 @llvm.smin.i64(i64 %left, i64 %begin.w)
  %right.next = call i64 @llvm.smax.i64(i64 %right, i64 %end.w)
  %s.next = add i64 %s, 1
  %done = icmp eq i64 %s.next, %count
  br i1 %done, label %all, label %one
all:
  call void @lend.wave.set(ptr %queue, i64 $LOW, i64 %low.next)
  call void @lend.wave.set(ptr %queue, i64 $HIGH, i64 %high.next)
  call void @lend.wave.set(ptr %queue, i64 $LEFT, i64 %left.next)
  call void @lend.wave.set(ptr %queue, i64 $RIGHT, i64 %right.next)
  call void @lend.wave.set(ptr %queue, i64 $DEEP, i64 %deep)
  ret void
}

; Rows %a to %b of a phase, their columns %c to %d.
define internal void @lend.wave.rows(ptr %entry.at, i64 %a, i64 %b, i64 %c, i64 %d) alwaysinline nounwind {
entry:
  %region = load ptr, ptr %entry.at, align 8
  %env.at = getelementptr i64, ptr %entry.at, i64 $ENV
  %env = load ptr, ptr %env.at, align 8
  %first = call i64 @lend.wave.get(ptr %entry.at, i64 $FIRST)
  %row = call i64 @lend.wave.get(ptr %entry.at, i64 $ROW)
  %left = call i64 @lend.wave.get(ptr %entry.at, i64 $BEGIN)
  %right = call i64 @lend.wave.get(ptr %entry.at, i64 $END)
  %a.row = sub i64 %a, %first
  %b.row = sub i64 %b, %first
  %a.at = mul i64 %a.row, %row
  %b.at = mul i64 %b.row, %row
  %l = icmp eq i64 %c, %left
  %r = icmp eq i64 %d, %right
  %whole = and i1 %l, %r
  br i1 %whole, label %once, label %cut
once:
  call void %region(ptr %env, i64 %a.at, i64 %b.at)
  ret void
cut:
  %column = call i64 @lend.wave.get(ptr %entry.at, i64 $COLUMN)
  %c.column = sub i64 %c, %left
  %length.columns = sub i64 %d, %c
  %skip = mul i64 %c.column, %column
  %length = mul i64 %length.columns, %column
  br label %each
each:
  %at = phi i64 [ %a.at, %cut ], [ %next, %each ]
  %begin = add i64 %at, %skip
  %end = add i64 %begin, %length
  call void %region(ptr %env, i64 %begin, i64 %end)
  %next = add i64 %at, %row
  %more = icmp slt i64 %next, %b.at
  br i1 %more, label %each, label %done
done:
  ret void
}

; All phases at the places from %begin, or where %late is 1 from `deep` places later, to %end, or where %long is 1 `deep` later.
define internal void @lend.wave.tile(ptr %queue, i64 %begin, i64 %end, i64 %late, i64 %long) noinline optsize nounwind {
entry:
  %count = call i64 @lend.wave.get(ptr %queue, i64 $COUNT)
  %step = call i64 @lend.wave.get(ptr %queue, i64 $STEP)
  %width = call i64 @lend.wave.get(ptr %queue, i64 $WIDTH)
  %left = call i64 @lend.wave.get(ptr %queue, i64 $LEFT)
  %right = call i64 @lend.wave.get(ptr %queue, i64 $RIGHT)
  %deep = call i64 @lend.wave.get(ptr %queue, i64 $DEEP)
  %entries = getelementptr i64, ptr %queue, i64 $HEADER
  %deep.long = mul i64 %deep, %long
  %stop = add i64 %end, %deep.long
  %some = icmp slt i64 %begin, %stop
  br i1 %some, label %block, label %done
block:
  %y = phi i64 [ %left, %entry ], [ %y.next, %swept ]
  %y.next = add i64 %y, %width
  br label %sweep
sweep:
  %w = phi i64 [ %begin, %block ], [ %w.next, %stepped ]
  %w.next = add i64 %w, %step
  br label %phase
phase:
  %s = phi i64 [ 0, %sweep ], [ %s.next, %ran ]
  %mine.at = mul i64 %s, $ENTRY
  %mine = getelementptr i64, ptr %entries, i64 %mine.at
  %depth = call i64 @lend.wave.get(ptr %mine, i64 $DEPTH)
  %skew = call i64 @lend.wave.get(ptr %mine, i64 $SKEW)
  %shift = call i64 @lend.wave.get(ptr %mine, i64 $SHIFT)
  %first = call i64 @lend.wave.get(ptr %mine, i64 $FIRST)
  %last = call i64 @lend.wave.get(ptr %mine, i64 $LAST)
  %l = call i64 @lend.wave.get(ptr %mine, i64 $BEGIN)
  %r = call i64 @lend.wave.get(ptr %mine, i64 $END)
  %depth.late = mul i64 %depth, %late
  %depth.long = mul i64 %depth, %long
  %from.place = add i64 %begin, %depth.late
  %to.place = add i64 %end, %depth.long
  %from = call i64 @llvm.smax.i64(i64 %w, i64 %from.place)
  %to = call i64 @llvm.smin.i64(i64 %w.next, i64 %to.place)
  %from.row = sub i64 %from, %skew
  %to.row = sub i64 %to, %skew
  %a = call i64 @llvm.smax.i64(i64 %from.row, i64 %first)
  %b = call i64 @llvm.smin.i64(i64 %to.row, i64 %last)
  %from.column = sub i64 %y, %shift
  %to.column = sub i64 %y.next, %shift
  %c = call i64 @llvm.smax.i64(i64 %from.column, i64 %l)
  %d = call i64 @llvm.smin.i64(i64 %to.column, i64 %r)
  %rows = icmp slt i64 %a, %b
  %columns = icmp slt i64 %c, %d
  %any = and i1 %rows, %columns
  br i1 %any, label %run, label %ran
run:
  call void @lend.wave.rows(ptr %mine, i64 %a, i64 %b, i64 %c, i64 %d)
  br label %ran
ran:
  %s.next = add i64 %s, 1
  %all = icmp eq i64 %s.next, %count
  br i1 %all, label %stepped, label %phase
stepped:
  %over = icmp slt i64 %w.next, %stop
  br i1 %over, label %sweep, label %swept
swept:
  %further = icmp slt i64 %y.next, %right
  br i1 %further, label %block, label %done
done:
  ret void
}

; The bands from %one to %end: what they can do on their own.
define internal void @lend.wave.bands(ptr %queue, i64 %one, i64 %end) nounwind {
entry:
  %low = call i64 @lend.wave.get(ptr %queue, i64 $LOW)
  %high = call i64 @lend.wave.get(ptr %queue, i64 $HIGH)
  %band = call i64 @lend.wave.get(ptr %queue, i64 $BAND)
  br label %each
each:
  %k = phi i64 [ %one, %entry ], [ %next, %each ]
  %next = add i64 %k, 1
  %from = mul i64 %k, %band
  %begin = add i64 %low, %from
  %to = add i64 %begin, %band
  %stop = call i64 @llvm.smin.i64(i64 %to, i64 %high)
  %inner = icmp ne i64 %k, 0
  %late = zext i1 %inner to i64
  call void @lend.wave.tile(ptr %queue, i64 %begin, i64 %stop, i64 %late, i64 0)
  %more = icmp slt i64 %next, %end
  br i1 %more, label %each, label %done
done:
  ret void
}

; What is left at the left ends of the bands from %one + 1 to %end + 1.
define internal void @lend.wave.seams(ptr %queue, i64 %one, i64 %end) nounwind {
entry:
  %low = call i64 @lend.wave.get(ptr %queue, i64 $LOW)
  %band = call i64 @lend.wave.get(ptr %queue, i64 $BAND)
  br label %each
each:
  %k = phi i64 [ %one, %entry ], [ %next, %each ]
  %next = add i64 %k, 1
  %from = mul i64 %next, %band
  %begin = add i64 %low, %from
  call void @lend.wave.tile(ptr %queue, i64 %begin, i64 %begin, i64 0, i64 1)
  %more = icmp slt i64 %next, %end
  br i1 %more, label %each, label %done
done:
  ret void
}

; Run all that waits.
define void @lend_wave_flush(ptr %queue, ptr %table, i64 %phases) noinline optsize nounwind {
entry:
  %count = call i64 @lend.wave.get(ptr %queue, i64 $COUNT)
  %some = icmp ne i64 %count, 0
  br i1 %some, label %plan, label %done
plan:
  call void @lend.wave.place(ptr %queue, ptr %table, i64 %phases)
  %low = call i64 @lend.wave.get(ptr %queue, i64 $LOW)
  %high = call i64 @lend.wave.get(ptr %queue, i64 $HIGH)
  %deep = call i64 @lend.wave.get(ptr %queue, i64 $DEEP)
  %span = sub i64 %high, %low
  %depth = call i64 @llvm.smax.i64(i64 %deep, i64 1)
  %depth.2 = shl i64 %depth, 1
  %fit = udiv i64 %span, %depth.2
  %threads = call i64 @lend_thread_count()
  %most = mul i64 %threads, $BANDS
  %several.1 = icmp sgt i64 %threads, 1
  %most.1 = select i1 %several.1, i64 %most, i64 1
  %few = call i64 @llvm.smin.i64(i64 %fit, i64 %most.1)
  %odd = urem i64 %few, %threads
  %even = sub i64 %few, %odd
  %enough = icmp ne i64 %even, 0
  %dealt = select i1 %enough, i64 %even, i64 %few
  %bands = call i64 @llvm.smax.i64(i64 %dealt, i64 1)
  %bands.less = sub i64 %bands, 1
  %round = add i64 %span, %bands.less
  %band = udiv i64 %round, %bands
  call void @lend.wave.set(ptr %queue, i64 $BAND, i64 %band)
  call void @lend_parallel_now(ptr @lend.wave.bands, ptr %queue, i64 %bands, i64 1)
  %several = icmp sgt i64 %bands, 1
  br i1 %several, label %seams, label %empty
seams:
  call void @lend_parallel_now(ptr @lend.wave.seams, ptr %queue, i64 %bands.less, i64 1)
  br label %empty
empty:
  call void @lend.wave.set(ptr %queue, i64 $COUNT, i64 0)
  br label %done
done:
  ret void
}
"""


DECLARATIONS = {
    "lend_wave_open": f"declare i64 @lend_wave_open(ptr{', i64' * 11})",
    "lend_wave_flush": "declare void @lend_wave_flush(ptr, ptr, i64)",
}
"""What kernels call."""


def waves_ir() -> str:
    """The module."""
    numbers = {
        "COUNT": COUNT, "LIMIT": LIMIT, "STEP": STEP, "WIDTH": WIDTH, "LOW": LOW, "HIGH": HIGH, "BAND": BAND, "LEFT": LEFT,
        "RIGHT": RIGHT, "DEEP": DEEP, "HEADER": HEADER, "ENV": ENV, "FIRST": FIRST, "LAST": LAST, "ROW": ROW, "BEGIN": BEGIN,
        "END": END, "COLUMN": COLUMN, "PHASE": PHASE, "SKEW": SKEW, "LAG": LAG, "SHIFT": SHIFT, "DEPTH": DEPTH, "ENTRY": ENTRY,
        "CAPACITY": CAPACITY, "MOST_STEPS": MOST_STEPS, "BANDS": BANDS, "GAIN": GAIN, "LEAST_GAIN": LEAST_GAIN, "SWEEP": SWEEP,
        "LEAST_ROW": LEAST_ROW, "MOST_BYTES": MOST_BYTES, "PART": PART, "FARTHEST": FARTHEST, "FARTHEST.4": 4 * FARTHEST,
    }  # fmt: skip
    text = _TEXT
    for name in sorted(numbers, key=len, reverse=True):
        text = text.replace(f"${name}", str(numbers[name]))
    return text
