"""CUDA's LLVM: the names of libdevice's functions, the address spaces of PTX, where its threads find their places.

Does: hold the tables.  Does not: emit (`emit.py`).
Invariants: `frem` is a division and a multiplication there, so remainders are libdevice's; f32 division and square root are
rounded correctly unless a kernel is compiled with `math="fast"`.
"""

from __future__ import annotations

from lend.lower.builder import FunctionBuilder
from lend.lower.device.abi import DeviceAbi, Shape, Spaces, SubgroupAbi
from lend.lower.dialect import Dialect


def symbol(function: str, type: str, arity: int) -> str:
    """`__nv_powf` for `pow` of floats."""
    return f"__nv_{function}{'' if type == 'double' else 'f'}"


def _register(builder: FunctionBuilder, name: str, dimension: int) -> str:
    """A special register, as an i64."""
    intrinsic = f"llvm.nvvm.read.ptx.sreg.{name}.{'xyz'[dimension]}"
    builder.module.declare(intrinsic, f"declare i32 @{intrinsic}() nounwind willreturn memory(none)")
    return builder.emit(f"zext i32 {builder.emit(f'call i32 @{intrinsic}()', name)} to i64", name)


def _position(builder: FunctionBuilder, dimension: int, size: int) -> str:
    block = _register(builder, "ctaid", dimension)
    start = builder.emit(f"mul nuw nsw i64 {block}, {size or _register(builder, 'ntid', dimension)}")
    return builder.emit(f"add nuw nsw i64 {start}, {_register(builder, 'tid', dimension)}", "place")


def _barrier(builder: FunctionBuilder) -> None:
    intrinsic = "llvm.nvvm.barrier.cta.sync.aligned.all"
    builder.module.declare(intrinsic, f"declare void @{intrinsic}(i32) convergent nounwind")
    builder.append(f"call void @{intrinsic}(i32 0) convergent")


WARP = 32


def _members(builder: FunctionBuilder, thread: str, size: int) -> str:
    """The threads of a warp that are in this thread's sub-group, as bits."""
    if size == WARP:
        return "-1"
    first = builder.emit(f"and i32 {builder.emit(f'trunc i64 {thread} to i32')}, {WARP - size}")
    return builder.emit(f"shl i32 {(1 << size) - 1}, {first}")


def _move(builder: FunctionBuilder, word: str, lane: str, thread: str, size: int) -> str:
    intrinsic = "llvm.nvvm.shfl.sync.idx.i32"
    builder.module.declare(intrinsic, f"declare i32 @{intrinsic}(i32, i32, i32, i32) convergent nounwind")
    number = lane if not lane.startswith("%") else builder.emit(f"trunc i64 {lane} to i32")
    segment = (WARP - size) << 8 | WARP - 1
    members = _members(builder, thread, size)
    return builder.emit(f"call i32 @{intrinsic}(i32 {members}, i32 {word}, i32 {number}, i32 {segment}) convergent")


def _sync(builder: FunctionBuilder, thread: str, size: int) -> None:
    builder.module.declare("llvm.nvvm.bar.warp.sync", "declare void @llvm.nvvm.bar.warp.sync(i32) convergent nounwind")
    builder.append(f"call void @llvm.nvvm.bar.warp.sync(i32 {_members(builder, thread, size)}) convergent")


def _attributes(shape: Shape) -> str:
    return f' "nvvm.maxntid"="{shape[0]},{shape[1]},{shape[2]}"'


ABI = DeviceAbi(
    Dialect("cuda", symbol, has_remainder=False),
    Spaces(any=0, device=1, block=3, thread=0),
    "ptx_kernel",
    position=_position,
    block=lambda builder, dimension: _register(builder, "ctaid", dimension),
    lane=lambda builder: _register(builder, "tid", 0),
    barrier=_barrier,
    split=(1, 2),
    shapes=((256, 1, 1), (64, 4, 1), (64, 4, 1)),
    attributes=_attributes,
    most_shared=48 << 10,
    subgroups=SubgroupAbi(WARP, _move, _sync),
)
