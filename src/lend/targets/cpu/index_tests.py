"""The tests of index arrays: compiled when they are needed first, once for each kind and width.

Does: give a test as a function, and its address for compiled code.  Does not: decide which arrays to test.

Example: `index_test("index", 32)(address, count, 9)` is `GOOD` if the `count` elements of 32 bits at `address` lie in 0..9.
"""

from __future__ import annotations

import ctypes
from functools import cache

from lend.targets.cpu.exclusive import compile_exclusively
from lend.targets.cpu.hand_written import assemble
from lend.targets.cpu.index_tests_ir import index_test_ir
from lend.targets.cpu.own_functions import OURS, addresses

_Function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class IndexTest:
    """One test."""

    def __init__(self, kind: str, bits: int) -> None:
        text = index_test_ir(kind, bits)
        self._code = assemble(text, addresses(name for name in OURS if f"@{name}(" in text), optimised=True)
        self.address = self._code.address("lend_test")
        self.distinct_address = self._code.address("lend_distinct") if kind == "unique" else 0
        self._function = _Function(self.address)

    def __call__(self, address: int, count: int, limit: int) -> int:
        """`GOOD`, `WRONG` or `OPEN` for `count` unsigned elements, at least one."""
        return self._function(address, count, limit)


@cache
def _test(kind: str, bits: int) -> IndexTest:
    return IndexTest(kind, bits)


def index_test(kind: str, bits: int) -> IndexTest:
    """The test of a kind of index array ("index", "offsets", "unique") of elements of so many bits, made at the first call."""
    return compile_exclusively(lambda: _test(kind, bits))
