"""The chunk of a launch -> LLVM: how many iterations one call of a region's function runs.

Does: compute `DeviceRegion`'s chunk from the iteration count and the sizes of the launch.  Does not: launch.
Invariants: the number of threads has no part in it.
"""

from __future__ import annotations

from lend.ir.typed import Value
from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import add, literal, range_count, saturating_product
from lend.lower.scalars import index_word
from lend.lower.writer import FunctionWriter
from lend.plan.cost import LARGEST, ArraySize, Bound, Trips, Work
from lend.plan.regions import CHUNK_WORK, CHUNKS, FINE, DeviceRegion


def write_chunk(host: FunctionWriter, region: DeviceRegion, iterations: str) -> str:
    """The chunk of a launch of `iterations`, of which there is at least one."""
    builder = host.builder
    least = str(region.grain) if region.grain is not None else _grain(host, region.work)
    builder.module.declare("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1 immarg)")
    builder.module.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
    quotient = builder.emit(f"udiv i64 {iterations}, {least}")
    few = builder.emit(f"call i64 @llvm.umin.i64(i64 {builder.emit(f'or i64 {quotient}, 1')}, i64 {CHUNKS})")
    zeros = builder.emit(f"call i64 @llvm.ctlz.i64(i64 {few}, i1 true)")
    shift = builder.emit(f"xor i64 {zeros}, 63")  # of the power of two: as many chunks, but for rounding
    less = builder.emit(f"sub i64 {iterations}, 1")
    equal = builder.emit(f"add i64 {builder.emit(f'lshr i64 {less}, {shift}')}, 1")
    even = divide_up(builder, iterations, CHUNKS)
    small = builder.emit(f"icmp ult i64 {even}, {least}")
    coarse = builder.emit(f"select i1 {small}, i64 {least}, i64 {even}")
    fine = builder.emit(f"icmp uge i64 {least}, {FINE}")
    chunk = builder.emit(f"select i1 {fine}, i64 {equal}, i64 {coarse}", "chunk")
    if region.unit > 1:
        units = builder.emit(f"udiv i64 {builder.emit(f'add i64 {chunk}, {region.unit - 1}')}, {region.unit}")
        chunk = builder.emit(f"mul i64 {units}, {region.unit}", "chunk")
    return chunk


def divide_up(builder: FunctionBuilder, count: str, divisor: int) -> str:
    """`ceil(count / divisor)` of a positive count, for a power of two."""
    less = builder.emit(f"sub i64 {count}, 1")
    quotient = builder.emit(f"lshr i64 {less}, {divisor.bit_length() - 1}")
    return builder.emit(f"add i64 {quotient}, 1")


def _grain(host: FunctionWriter, work: Work) -> str:
    """The least chunk at this launch's sizes."""
    cost = _cost(host, work)
    rounded = add(host.builder, cost, str(CHUNK_WORK - 1))
    return host.builder.emit(f"udiv i64 {rounded}, {cost}", "grain")


def _cost(host: FunctionWriter, work: Work) -> str:
    """The operations of `work`, at least 1 and far from wrapping."""
    total = str(work.operations)
    for trips, body in work.loops:
        steps = _capped(host.builder, _trips(host, trips))
        total = add(host.builder, total, _capped(host.builder, saturating_product(host.builder, [steps, _cost(host, body)])))
    return total


def _trips(host: FunctionWriter, trips: Trips) -> str:
    count = range_count(host.builder, _bound(host, trips.lower), _bound(host, trips.upper), str(trips.step))
    return count if trips.divisor == 1 else host.builder.emit(f"udiv i64 {count}, {trips.divisor}")


def _bound(host: FunctionWriter, bound: Bound) -> str:
    if isinstance(bound, ArraySize):
        return host.array(bound.array).sizes[bound.dimension]
    return index_word(host, bound.scalar, host.scalar(bound)) if isinstance(bound, Value) else str(bound)


def _capped(builder: FunctionBuilder, count: str) -> str:
    """The smaller of an unsigned count and the largest estimate."""
    known = literal(count)
    if known is not None:
        return str(min(known % (1 << 64), LARGEST))
    below = builder.emit(f"icmp ult i64 {count}, {LARGEST}")
    return builder.emit(f"select i1 {below}, i64 {count}, i64 {LARGEST}")
