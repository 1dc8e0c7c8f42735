"""What host functions do with a device, whatever drives it: code by hand, so that launches need no Python.

Does: give the IR of `lend_read`, `lend_write`, `lend_scratch`, `lend_record`, `lend_tag` and `lend_settle`, as
`lower/device/host.py` declares them; a driver adds `lend_launch`, `@copy_out` and `@copy_in`, which copy and wait.
Does not: allocate, or read faults: it calls back for those (`device.py`).
Invariants: the device's lock is held by whoever runs a host function. The first error of the driver is kept.
"""

from __future__ import annotations

from lend.language.abi import NO_FAULT
from lend.lower.device.faults import LAST_TAG, TAG_SHIFT

QUEUE, RECORD, SCRATCH, SCRATCH_BYTES = "lend_queue", "lend_record_at", "lend_scratch_at", "lend_scratch_bytes"
ERROR, TAGS, EPOCH = "lend_error", "lend_tags", "lend_epoch"
BYTES_READ, BYTES_WRITTEN = "lend_bytes_read", "lend_bytes_written"
LAUNCHES, EVENTS, EVENT_ROOM = "lend_launches", "lend_events", "lend_event_room"
"""Variables: the queue or stream, where faults are recorded, memory for partial results, the first error; how many launches may
have recorded faults, and how often all of them were found to have none; what host functions have copied; how many launches were
begun, where their events go, and how many do."""

WORDS = (
    QUEUE, RECORD, SCRATCH, SCRATCH_BYTES, TAGS, EPOCH, BYTES_READ, BYTES_WRITTEN, LAUNCHES, EVENTS, EVENT_ROOM,
)  # fmt: skip
"""Those of 8 bytes."""

CALLBACKS = ("lend_more_scratch", "lend_take_fault")
"""`ptr lend_more_scratch(bytes)`, and `void lend_take_fault(fault, error)`: copy the fault's record, or record the error."""

PROVIDED = ("lend_launch", "lend_read", "lend_write", "lend_scratch", "lend_record", "lend_tag", "lend_settle")
"""What the whole text defines for host functions."""

CALLS_IR = f"""
@{QUEUE} = global ptr null
@{RECORD} = global ptr null
@{SCRATCH} = global ptr null
@{SCRATCH_BYTES} = global i64 0
@{ERROR} = global i32 0
@{TAGS} = global i64 0
@{EPOCH} = global i64 0
@{LAUNCHES} = global i64 0
@{EVENTS} = global ptr null
@{EVENT_ROOM} = global i64 0
@{BYTES_READ} = global i64 0
@{BYTES_WRITTEN} = global i64 0

declare ptr @lend_more_scratch(i64)
declare void @lend_take_fault(ptr, i32)
declare i64 @llvm.umin.i64(i64, i64)

define internal i32 @failed(i32 %status) {{
  %before = load i32, ptr @{ERROR}
  %first = icmp eq i32 %before, 0
  %kept = select i1 %first, i32 %status, i32 %before
  store i32 %kept, ptr @{ERROR}
  ret i32 %status
}}

define i32 @lend_read(ptr %to, ptr %device, i64 %bytes) {{
  %before = load i64, ptr @{BYTES_READ}
  %after = add i64 %before, %bytes
  store i64 %after, ptr @{BYTES_READ}
  %result = call i32 @copy_out(ptr %to, ptr %device, i64 %bytes)
  ret i32 %result
}}

define i32 @lend_write(ptr %device, ptr %from, i64 %bytes) {{
  %before = load i64, ptr @{BYTES_WRITTEN}
  %after = add i64 %before, %bytes
  store i64 %after, ptr @{BYTES_WRITTEN}
  %result = call i32 @copy_in(ptr %device, ptr %from, i64 %bytes)
  ret i32 %result
}}

define ptr @lend_scratch(i64 %bytes) {{
  %there = load i64, ptr @{SCRATCH_BYTES}
  %enough = icmp ule i64 %bytes, %there
  br i1 %enough, label %have, label %more
have:
  %at = load ptr, ptr @{SCRATCH}
  ret ptr %at
more:
  %new = call ptr @lend_more_scratch(i64 %bytes)
  ret ptr %new
}}

define ptr @lend_record() {{
  %at = load ptr, ptr @{RECORD}
  ret ptr %at
}}

define i64 @lend_tag() {{
  %pending = load i64, ptr @{TAGS}
  %more = add i64 %pending, 1
  %enough = icmp ugt i64 %more, {LAST_TAG + 1}
  %next = select i1 %enough, i64 {LAST_TAG + 1}, i64 %more
  store i64 %next, ptr @{TAGS}
  %number = sub i64 %next, 1
  %tag = shl i64 %number, {TAG_SHIFT}
  ret i64 %tag
}}

define i32 @lend_settle(ptr %fault) {{
entry:
  %first = alloca i64, align 8
  %pending = load i64, ptr @{TAGS}
  %some = icmp ne i64 %pending, 0
  br i1 %some, label %look, label %good
look:
  %record = load ptr, ptr @{RECORD}
  %status = call i32 @copy_out(ptr %first, ptr %record, i64 8)
  %position = load i64, ptr %first
  %none = icmp eq i64 %position, {NO_FAULT}
  %fine = icmp eq i32 %status, 0
  %both = and i1 %none, %fine
  br i1 %both, label %clean, label %bad
clean:
  store i64 0, ptr @{TAGS}
  %epoch = load i64, ptr @{EPOCH}
  %later = add i64 %epoch, 1
  store i64 %later, ptr @{EPOCH}
  br label %good
good:
  ret i32 0
bad:
  call void @lend_take_fault(ptr %fault, i32 %status)
  ret i32 1
}}
"""
