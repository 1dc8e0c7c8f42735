"""Entry points: the elements of index arrays, tested before the kernel runs.

Does: have each index array of the call looked at by the test of its kind (`index_tests.py`).  Does not: word what is wrong: where
a test does not find everything right, Python decides.
Invariants: what is admitted here is admitted by `driver/index_arrays.py`. Arrays that are not in row-major order, without gaps,
are Python's.
"""

from __future__ import annotations

from lend.language.abi import MAX_SIZE
from lend.language.signature import IndexFacts
from lend.language.types import Layout, ScalarType
from lend.targets.cpu.entry_arguments import Bindings, NotNative, size_value
from lend.targets.cpu.entry_builder import EntryBuilder
from lend.targets.cpu.index_tests import index_test
from lend.targets.cpu.index_tests_ir import GOOD

SHORT = 1 << 12
"""So many elements are looked at before giving up Python's lock would have paid."""


def guard_indices(b: EntryBuilder, call: Bindings) -> None:
    """Go on only if the elements of index arrays are what their types say; the last of the guards, since it takes longest."""
    for facts, array in call.indices:
        element = array.type.element
        if array.type.layout is not Layout.C or not isinstance(element, ScalarType):
            raise NotNative
        count = "1"
        for size in array.shape:
            count = b.exact("smul", count, size)
        look, on = b.new_block("look"), b.new_block("looked")
        b.branch(b.emit(f"icmp ne i64 {count}, 0"), look, on)
        b.open(look)
        _guard(b, facts, element, array.data, count, _limit(b, facts, element, call))
        b.jump(on)
        b.open(on)


def _limit(b: EntryBuilder, facts: IndexFacts, element: ScalarType, call: Bindings) -> str:
    """The greatest value that an element may have."""
    bound = size_value(b, facts.bound, call.sizes)
    b.require(b.emit(f"icmp sle i64 {bound}, {MAX_SIZE}"))
    limit = bound if facts.kind == "offsets" else b.exact("ssub", bound, "1")
    b.require(b.emit(f"icmp sge i64 {limit}, 0"))
    if element.maximum >= MAX_SIZE:
        return limit
    b.module.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
    return b.emit(f"call i64 @llvm.umin.i64(i64 {limit}, i64 {element.maximum})")


def _guard(b: EntryBuilder, facts: IndexFacts, element: ScalarType, data: str, count: str, limit: str) -> None:
    test = b.address(index_test(facts.kind, element.bits).address)
    hold, release, done = (b.new_block(hint) for hint in ("hold", "release", "tested"))
    b.branch(b.emit(f"icmp ule i64 {count}, {SHORT}"), hold, release)
    b.open(hold)
    held = b.emit(f"call i32 {test}(ptr {data}, i64 {count}, i64 {limit})")
    b.jump(done)
    b.open(release)
    verdict = b.support("tested", test, data, count, limit)
    b.jump(done)
    b.open(done)
    b.require_same("i32", b.emit(f"phi i32 [ {held}, %{hold} ], [ {verdict}, %{release} ]"), str(GOOD))
