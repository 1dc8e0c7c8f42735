"""What a host function does with an OpenCL device: OpenCL's part of the code by hand.

Does: give the IR of `lend_launch` and of copies, some of which are for Python too.  Does not: the rest (`targets/calls_ir.py`).
Invariants: one queue, which runs what it is given in order. A block's size is a power of two, and launches are rounded up to
whole blocks: threads beyond the end do nothing.
"""

from __future__ import annotations

from lend.targets.calls_ir import CALLS_IR, EVENT_ROOM, EVENTS, LAUNCHES, QUEUE

BLOCK = "lend_block"
"""A variable: the largest block."""

BEGIN_COPY, COPY = "lend_begin_copy", "lend_copy"
"""Functions: `i32 (to, from, bytes)`, which begins to copy, or copies and waits. Python calls what has few arguments faster."""

CALLED = ("clSetKernelArg", "clSetKernelArgSVMPointer", "clEnqueueNDRangeKernel", "clEnqueueSVMMemcpy")
"""Functions of OpenCL that the code calls."""

_ENQUEUE = "@clEnqueueNDRangeKernel"
_SIZES = "ptr null, ptr %sizes, ptr %s3"
_ALONE = "i32 0, ptr null"

LAUNCH_IR = f"""{CALLS_IR}
@{BLOCK} = global i64 256

declare i32 @clSetKernelArg(ptr, i32, i64, ptr)
declare i32 @clSetKernelArgSVMPointer(ptr, i32, ptr)
declare i32 @clEnqueueNDRangeKernel(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr, ptr)
declare i32 @clEnqueueSVMMemcpy(ptr, i32, ptr, ptr, i64, i32, ptr, ptr)
declare i64 @llvm.ctlz.i64(i64, i1 immarg)

define internal i64 @power_up(i64 %count) {{
  %less = sub i64 %count, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %shift = sub i64 64, %zeros
  %power = shl i64 1, %shift
  %one = icmp ule i64 %count, 1
  %result = select i1 %one, i64 1, i64 %power
  ret i64 %result
}}

define internal i64 @round_up(i64 %count, i64 %unit) {{
  %less = sub i64 %unit, 1
  %over = add i64 %count, %less
  %mask = xor i64 %less, -1
  %result = and i64 %over, %mask
  ret i64 %result
}}

define i32 @lend_launch(ptr %kernel, ptr %pointers, i64 %count, ptr %words, i64 %bytes, i64 %x, i64 %y, i64 %z, i64 %block) {{
entry:
  %sizes = alloca [6 x i64], align 16
  %any = icmp ne i64 %count, 0
  br i1 %any, label %pointer, label %values
pointer:
  %k = phi i64 [ 0, %entry ], [ %k.next, %set ]
  %at = getelementptr ptr, ptr %pointers, i64 %k
  %address = load ptr, ptr %at
  %number = trunc i64 %k to i32
  %set.status = call i32 @clSetKernelArgSVMPointer(ptr %kernel, i32 %number, ptr %address)
  %set.fine = icmp eq i32 %set.status, 0
  br i1 %set.fine, label %set, label %bad
set:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %pointer, label %values
values:
  %last = trunc i64 %count to i32
  %value.status = call i32 @clSetKernelArg(ptr %kernel, i32 %last, i64 %bytes, ptr %words)
  %value.fine = icmp eq i32 %value.status, 0
  br i1 %value.fine, label %shape, label %bad
shape:
  %most = load i64, ptr @{BLOCK}
  %x.power = call i64 @power_up(i64 %x)
  %x.any = call i64 @llvm.umin.i64(i64 %x.power, i64 %most)
  %given = icmp ne i64 %block, 0
  %lx = select i1 %given, i64 %block, i64 %x.any
  %rest = udiv i64 %most, %lx
  %rest.some = call i64 @llvm.umin.i64(i64 %rest, i64 %most)
  %y.power = call i64 @power_up(i64 %y)
  %y.any = call i64 @llvm.umin.i64(i64 %y.power, i64 %rest.some)
  %ly = select i1 %given, i64 1, i64 %y.any
  %gx = call i64 @round_up(i64 %x, i64 %lx)
  %gy = call i64 @round_up(i64 %y, i64 %ly)
  store i64 %gx, ptr %sizes
  %s1 = getelementptr i64, ptr %sizes, i64 1
  store i64 %gy, ptr %s1
  %s2 = getelementptr i64, ptr %sizes, i64 2
  store i64 %z, ptr %s2
  %s3 = getelementptr i64, ptr %sizes, i64 3
  store i64 %lx, ptr %s3
  %s4 = getelementptr i64, ptr %sizes, i64 4
  store i64 %ly, ptr %s4
  %s5 = getelementptr i64, ptr %sizes, i64 5
  store i64 1, ptr %s5
  %deep = icmp ugt i64 %z, 1
  %wide = icmp ugt i64 %y, 1
  %two = select i1 %wide, i32 2, i32 1
  %dimensions = select i1 %deep, i32 3, i32 %two
  %queue = load ptr, ptr @{QUEUE}
  %begun = load i64, ptr @{LAUNCHES}
  %begun.next = add i64 %begun, 1
  store i64 %begun.next, ptr @{LAUNCHES}
  %room = load i64, ptr @{EVENT_ROOM}
  %timed = icmp ult i64 %begun, %room
  %events = load ptr, ptr @{EVENTS}
  %event.at = getelementptr ptr, ptr %events, i64 %begun
  %event = select i1 %timed, ptr %event.at, ptr null
  %status = call i32 {_ENQUEUE}(ptr %queue, ptr %kernel, i32 %dimensions, {_SIZES}, {_ALONE}, ptr %event)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %good, label %bad
good:
  ret i32 0
bad:
  %code = phi i32 [ %set.status, %pointer ], [ %value.status, %values ], [ %status, %shape ]
  %kept = call i32 @failed(i32 %code)
  ret i32 %kept
}}

define i32 @{BEGIN_COPY}(ptr %to, ptr %from, i64 %bytes) {{
  %queue = load ptr, ptr @{QUEUE}
  %status = call i32 @clEnqueueSVMMemcpy(ptr %queue, i32 0, ptr %to, ptr %from, i64 %bytes, i32 0, ptr null, ptr null)
  ret i32 %status
}}

define i32 @{COPY}(ptr %to, ptr %from, i64 %bytes) {{
  %queue = load ptr, ptr @{QUEUE}
  %status = call i32 @clEnqueueSVMMemcpy(ptr %queue, i32 1, ptr %to, ptr %from, i64 %bytes, i32 0, ptr null, ptr null)
  ret i32 %status
}}

define internal i32 @copy_out(ptr %to, ptr %from, i64 %bytes) {{
  %status = call i32 @{COPY}(ptr %to, ptr %from, i64 %bytes)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %good, label %bad
good:
  ret i32 0
bad:
  %kept = call i32 @failed(i32 %status)
  ret i32 %kept
}}

define internal i32 @copy_in(ptr %to, ptr %from, i64 %bytes) {{
  %result = call i32 @copy_out(ptr %to, ptr %from, i64 %bytes)
  ret i32 %result
}}
"""
