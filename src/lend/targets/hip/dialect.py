"""HIP's LLVM: the names of OCML's functions, AMD's address spaces, where its threads find their places.

Does: hold the tables.  Does not: emit (`emit.py`).
Invariants: a block has the shape that its kernel is compiled for: then its size needs no register. What LLVM itself would make
of f32's sine, cosine or power has no range reduction, so these are OCML's; so are remainders.
"""

from __future__ import annotations

from lend.lower.builder import FunctionBuilder
from lend.lower.device.abi import DeviceAbi, Shape, Spaces, SubgroupAbi
from lend.lower.dialect import Dialect


def symbol(function: str, type: str, arity: int) -> str:
    """`__ocml_pow_f32` for `pow` of floats."""
    return f"__ocml_{function}_{'f64' if type == 'double' else 'f32'}"


def _register(builder: FunctionBuilder, name: str, dimension: int) -> str:
    """A place that a thread begins with, as an i64."""
    intrinsic = f"llvm.amdgcn.{name}.id.{'xyz'[dimension]}"
    builder.module.declare(intrinsic, f"declare i32 @{intrinsic}() nounwind willreturn memory(none)")
    return builder.emit(f"zext i32 {builder.emit(f'call i32 @{intrinsic}()', name)} to i64", name)


def _position(builder: FunctionBuilder, dimension: int, size: int) -> str:
    start = builder.emit(f"mul nuw nsw i64 {_register(builder, 'workgroup', dimension)}, {size}")
    return start if size == 1 else builder.emit(f"add nuw nsw i64 {start}, {_register(builder, 'workitem', dimension)}", "place")


WAVE = 64
"""Threads of the largest wave."""


def _parts(builder: FunctionBuilder, dimension: int, size: int) -> tuple[str, str]:
    """Threads of a wave differ in their place along the first dimension only, since a block's rows are whole waves."""
    start = builder.emit(f"mul nuw nsw i64 {_register(builder, 'workgroup', dimension)}, {size}")
    if size == 1:
        return start, "0"
    if dimension == 0:
        return start, _register(builder, "workitem", dimension)
    name = "llvm.amdgcn.readfirstlane.i32"
    builder.module.declare(name, f"declare i32 @{name}(i32) convergent nounwind willreturn memory(none)")
    own = builder.emit(f"trunc i64 {_register(builder, 'workitem', dimension)} to i32")
    same = builder.emit(f"zext i32 {builder.emit(f'call i32 @{name}(i32 {own}) convergent')} to i64")
    return builder.emit(f"add nuw nsw i64 {start}, {same}"), "0"


def _barrier(builder: FunctionBuilder) -> None:
    builder.module.declare("llvm.amdgcn.s.barrier", "declare void @llvm.amdgcn.s.barrier() convergent nounwind")
    builder.append('fence syncscope("workgroup") release')
    builder.append("call void @llvm.amdgcn.s.barrier() convergent")
    builder.append('fence syncscope("workgroup") acquire')


def _wave_lane(builder: FunctionBuilder) -> str:
    """This thread's number in its wave."""
    for half in ("lo", "hi"):
        name = f"llvm.amdgcn.mbcnt.{half}"
        builder.module.declare(name, f"declare i32 @{name}(i32, i32) nounwind willreturn memory(none)")
    low = builder.emit("call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)")
    return builder.emit(f"call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {low})", "lane")


def _move(builder: FunctionBuilder, word: str, lane: str, thread: str, size: int) -> str:
    intrinsic = "llvm.amdgcn.ds.bpermute"
    builder.module.declare(intrinsic, f"declare i32 @{intrinsic}(i32, i32) convergent nounwind willreturn memory(none)")
    first = builder.emit(f"and i32 {_wave_lane(builder)}, {-size}")
    number = lane if not lane.startswith("%") else builder.emit(f"trunc i64 {lane} to i32")
    place = builder.emit(f"shl i32 {builder.emit(f'add i32 {first}, {number}')}, 2")
    return builder.emit(f"call i32 @{intrinsic}(i32 {place}, i32 {word}) convergent")


def _sync(builder: FunctionBuilder, thread: str, size: int) -> None:
    builder.module.declare("llvm.amdgcn.wave.barrier", "declare void @llvm.amdgcn.wave.barrier() convergent nounwind")
    builder.append('fence syncscope("wavefront") release')
    builder.append("call void @llvm.amdgcn.wave.barrier() convergent")
    builder.append('fence syncscope("wavefront") acquire')


def _attributes(shape: Shape) -> str:
    threads = shape[0] * shape[1] * shape[2]
    return f' "amdgpu-flat-work-group-size"="{threads},{threads}" "uniform-work-group-size"="true"'


ABI = DeviceAbi(
    Dialect("hip", symbol, has_remainder=False),
    Spaces(any=0, device=1, block=3, thread=5, words=4),
    "amdgpu_kernel",
    position=_position,
    block=lambda builder, dimension: _register(builder, "workgroup", dimension),
    lane=lambda builder: _register(builder, "workitem", 0),
    barrier=_barrier,
    passed="byref",
    split=(0, 1, 2),
    shapes=((256, 1, 1), (64, 4, 1), (64, 4, 1)),
    attributes=_attributes,
    most_shared=64 << 10,
    subgroups=SubgroupAbi(32, _move, _sync),
    parts=_parts,
)
