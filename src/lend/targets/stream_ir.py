"""What a host function does with a device of CUDA's or HIP's driver, whose functions are twins: code by hand, so that launches
need no Python.

Does: give the IR of `lend_launch`, `lend_read`, `lend_write`, `lend_scratch`, `lend_record` and `lend_poll`, as
`lower/device/host.py` declares them, for one driver's names.  Does not: allocate, or read faults: it calls back for those.
Invariants: one stream, which runs what it is given in order; the device's lock is held by whoever runs a host function. A
kernel's handle is four words: the driver's function and how many threads its blocks have along each dimension. Launches are
rounded up to whole blocks: threads beyond the end do nothing. A launch of more blocks than the driver takes is made in parts.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.targets.calls_ir import CALLS_IR, EVENT_ROOM, EVENTS, LAUNCHES, QUEUE

CONTEXT = "lend_context"
"""A variable: what says which device a thread means."""

HANDLE_WORDS = 4


@dataclass(frozen=True)
class Names:
    """A driver's functions. `enter` takes a pointer (CUDA's context), or an i32 (the number of HIP's device); `record` an event
    and a stream."""

    launch: str
    to_host: str
    to_device: str
    wait: str
    enter: str
    record: str
    context: str = "ptr"

    @property
    def called(self) -> tuple[str, ...]:
        """All of them."""
        return (self.launch, self.to_host, self.to_device, self.wait, self.enter, self.record)


def launch_ir(names: Names, most: tuple[int, int, int]) -> str:
    """The code; `most`: how many blocks the driver takes along each dimension."""
    return f"""{CALLS_IR}
@{CONTEXT} = global {names.context} {"null" if names.context == "ptr" else "0"}

declare i32 @{names.launch}(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)
declare i32 @{names.to_host}(ptr, ptr, i64, ptr)
declare i32 @{names.to_device}(ptr, ptr, i64, ptr)
declare i32 @{names.wait}(ptr)
declare i32 @{names.enter}({names.context})
declare i32 @{names.record}(ptr, ptr)

define internal i32 @enter() {{
  %context = load {names.context}, ptr @{CONTEXT}
  %status = call i32 @{names.enter}({names.context} %context)
  ret i32 %status
}}

define internal i64 @blocks(i64 %threads, i64 %size) {{
  %less = sub i64 %size, 1
  %up = add i64 %threads, %less
  %count = udiv i64 %up, %size
  ret i64 %count
}}

define i32 @lend_launch(ptr %kernel, ptr %pointers, i64 %count, ptr %words, i64 %bytes, i64 %x, i64 %y, i64 %z, i64 %block) {{
entry:
  %room = add i64 %count, 4
  %parameters = alloca ptr, i64 %room, align 8
  %starts = alloca [3 x i64], align 8
  %start.y = getelementptr i64, ptr %starts, i64 1
  %start.z = getelementptr i64, ptr %starts, i64 2
  %entered = call i32 @enter()
  %in = icmp eq i32 %entered, 0
  br i1 %in, label %test, label %bad
test:
  %k = phi i64 [ 0, %entry ], [ %k.next, %pointer ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %pointer, label %values
pointer:
  %value.at = getelementptr ptr, ptr %pointers, i64 %k
  %place = getelementptr ptr, ptr %parameters, i64 %k
  store ptr %value.at, ptr %place
  %k.next = add i64 %k, 1
  br label %test
values:
  %p0 = getelementptr ptr, ptr %parameters, i64 %count
  store ptr %words, ptr %p0
  %p1 = getelementptr ptr, ptr %p0, i64 1
  store ptr %starts, ptr %p1
  %p2 = getelementptr ptr, ptr %p0, i64 2
  store ptr %start.y, ptr %p2
  %p3 = getelementptr ptr, ptr %p0, i64 3
  store ptr %start.z, ptr %p3
  %function = load ptr, ptr %kernel
  %bx.at = getelementptr i64, ptr %kernel, i64 1
  %bx = load i64, ptr %bx.at
  %by.at = getelementptr i64, ptr %kernel, i64 2
  %by = load i64, ptr %by.at
  %bz.at = getelementptr i64, ptr %kernel, i64 3
  %bz = load i64, ptr %bz.at
  %nx = call i64 @blocks(i64 %x, i64 %bx)
  %ny = call i64 @blocks(i64 %y, i64 %by)
  %nz = call i64 @blocks(i64 %z, i64 %bz)
  %bx.32 = trunc i64 %bx to i32
  %by.32 = trunc i64 %by to i32
  %bz.32 = trunc i64 %bz to i32
  %stream = load ptr, ptr @{QUEUE}
  %begun = load i64, ptr @{LAUNCHES}
  %begun.next = add i64 %begun, 1
  store i64 %begun.next, ptr @{LAUNCHES}
  %event.room = load i64, ptr @{EVENT_ROOM}
  %timed = icmp ult i64 %begun, %event.room
  %events = load ptr, ptr @{EVENTS}
  %pair = shl i64 %begun, 1
  %before.at = getelementptr ptr, ptr %events, i64 %pair
  br i1 %timed, label %clock, label %part
clock:
  %before = load ptr, ptr %before.at
  %clock.status = call i32 @{names.record}(ptr %before, ptr %stream)
  br label %part
part:
  %sx = phi i64 [ 0, %values ], [ 0, %clock ], [ %sx.after, %next ]
  %sy = phi i64 [ 0, %values ], [ 0, %clock ], [ %sy.after, %next ]
  %sz = phi i64 [ 0, %values ], [ 0, %clock ], [ %sz.after, %next ]
  %tx = mul i64 %sx, %bx
  store i64 %tx, ptr %starts
  %ty = mul i64 %sy, %by
  store i64 %ty, ptr %start.y
  %tz = mul i64 %sz, %bz
  store i64 %tz, ptr %start.z
  %rx = sub i64 %nx, %sx
  %ry = sub i64 %ny, %sy
  %rz = sub i64 %nz, %sz
  %cx = call i64 @llvm.umin.i64(i64 %rx, i64 {most[0]})
  %cy = call i64 @llvm.umin.i64(i64 %ry, i64 {most[1]})
  %cz = call i64 @llvm.umin.i64(i64 %rz, i64 {most[2]})
  %cx.32 = trunc i64 %cx to i32
  %cy.32 = trunc i64 %cy to i32
  %cz.32 = trunc i64 %cz to i32
  %status = call i32 @{names.launch}(ptr %function, i32 %cx.32, i32 %cy.32, i32 %cz.32, i32 %bx.32, i32 %by.32, i32 %bz.32, i32 0,
    ptr %stream, ptr %parameters, ptr null)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %next, label %bad
next:
  %sx.next = add i64 %sx, %cx
  %x.done = icmp uge i64 %sx.next, %nx
  %sx.after = select i1 %x.done, i64 0, i64 %sx.next
  %sy.up = add i64 %sy, %cy
  %sy.next = select i1 %x.done, i64 %sy.up, i64 %sy
  %y.done = icmp uge i64 %sy.next, %ny
  %sy.after = select i1 %y.done, i64 0, i64 %sy.next
  %sz.up = add i64 %sz, %cz
  %sz.after = select i1 %y.done, i64 %sz.up, i64 %sz
  %all = icmp uge i64 %sz.after, %nz
  br i1 %all, label %last, label %part
last:
  br i1 %timed, label %unclock, label %good
unclock:
  %after.at = getelementptr ptr, ptr %before.at, i64 1
  %after = load ptr, ptr %after.at
  %unclock.status = call i32 @{names.record}(ptr %after, ptr %stream)
  br label %good
good:
  ret i32 0
bad:
  %code = phi i32 [ %entered, %entry ], [ %status, %part ]
  %kept = call i32 @failed(i32 %code)
  ret i32 %kept
}}

define internal i32 @copy_out(ptr %to, ptr %from, i64 %bytes) {{
entry:
  %entered = call i32 @enter()
  %in = icmp eq i32 %entered, 0
  br i1 %in, label %copy, label %done
copy:
  %stream = load ptr, ptr @{QUEUE}
  %copied = call i32 @{names.to_host}(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  %waited = call i32 @{names.wait}(ptr %stream)
  br label %done
done:
  %then = phi i32 [ 0, %entry ], [ %copied, %copy ]
  %last = phi i32 [ 0, %entry ], [ %waited, %copy ]
  %result = call i32 @first_of(i32 %entered, i32 %then, i32 %last)
  ret i32 %result
}}

define internal i32 @copy_in(ptr %to, ptr %from, i64 %bytes) {{
entry:
  %entered = call i32 @enter()
  %in = icmp eq i32 %entered, 0
  br i1 %in, label %copy, label %done
copy:
  %stream = load ptr, ptr @{QUEUE}
  %copied = call i32 @{names.to_device}(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  %waited = call i32 @{names.wait}(ptr %stream)
  br label %done
done:
  %then = phi i32 [ 0, %entry ], [ %copied, %copy ]
  %last = phi i32 [ 0, %entry ], [ %waited, %copy ]
  %result = call i32 @first_of(i32 %entered, i32 %then, i32 %last)
  ret i32 %result
}}

define internal i32 @first_of(i32 %a, i32 %b, i32 %c) {{
entry:
  %later = icmp eq i32 %b, 0
  %bc = select i1 %later, i32 %c, i32 %b
  %none = icmp eq i32 %a, 0
  %first = select i1 %none, i32 %bc, i32 %a
  %fine = icmp eq i32 %first, 0
  br i1 %fine, label %good, label %bad
good:
  ret i32 0
bad:
  %kept = call i32 @failed(i32 %first)
  ret i32 %kept
}}
"""
