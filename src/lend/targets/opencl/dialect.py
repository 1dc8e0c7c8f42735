"""OpenCL's LLVM: the names of its functions, its address spaces, where its threads find their places.

Does: hold the tables.  Does not: emit (`emit.py`).
Invariants: functions of the mathematical library are OpenCL's own, called by their mangled names, which the code generator turns
into its extended instructions. f32 division and square root need not be rounded correctly on every device, `frem` is not exact,
and `llvm.minimum` becomes a minimum that drops NaN: lend writes these itself.
"""

from __future__ import annotations

from dataclasses import replace

from lend.lower.builder import FunctionBuilder
from lend.lower.device.abi import DeviceAbi, Spaces
from lend.lower.dialect import Dialect

FENCES = 3
"""A barrier orders the memory of the block and that of the device."""


def mangled(function: str, type: str, arity: int) -> str:
    """`_Z3powff` for `pow` of two floats."""
    return f"_Z{len(function)}{function}{('d' if type == 'double' else 'f') * arity}"


DIALECT = Dialect("opencl", mangled, "spir_func ", orders_nan=False, has_remainder=False, rounds_division=False)


ON_PROCESSORS = replace(DIALECT, keeps_order=False)
"""Intel's compiler for processors reassociates sums in loops that it vectorises, whatever it is told."""


def _query(builder: FunctionBuilder, function: str, dimension: int) -> str:
    symbol = f"_Z{len(function)}{function}j"
    builder.module.declare(symbol, f"declare spir_func i64 @{symbol}(i32) nounwind willreturn memory(none)")
    return builder.emit(f"call spir_func i64 @{symbol}(i32 {dimension})", "place")


def _barrier(builder: FunctionBuilder) -> None:
    builder.module.declare("_Z7barrierj", "declare spir_func void @_Z7barrierj(i32) convergent nounwind")
    builder.append(f"call spir_func void @_Z7barrierj(i32 {FENCES}) convergent")


ABI = DeviceAbi(
    DIALECT,
    Spaces(any=4, device=1, block=3, thread=0),
    "spir_kernel",
    position=lambda builder, dimension, size: _query(builder, "get_global_id", dimension),
    block=lambda builder, dimension: _query(builder, "get_group_id", dimension),
    lane=lambda builder: _query(builder, "get_local_id", 0),
    barrier=_barrier,
)
ABI_ON_PROCESSORS = replace(ABI, dialect=ON_PROCESSORS)
