"""Indices as sums: what all threads of a wave share, how far a thread lies behind that, and a number.

Does: take the operands of indices apart into these, and write addresses so that the shared part comes first and the number last.
Does not: know targets: whether threads have registers of their own for what they share is said by `DeviceAbi.parts`.
Invariants: the three parts add up to the index, as machine integers do, whatever a part is taken for; the part of a thread is
less than 2**26 by construction (a place in a block, times numbers), so that its product by a small stride fits 32 bits. Parts are
worked out anew for each address, where it is wanted: operands that an index was made from are there wherever the index is.

Why: AMD's processors add 32 bits of a thread to an address that the wave has in its scalar registers in the access itself. An
address that is 64 bits wide in each thread costs two registers and two additions for each array.
"""

from __future__ import annotations

from collections.abc import Mapping

from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import add, literal, multiply, offset, subtract, wrapped

Parts = tuple[str, str, int]
"""Shared by the threads of a wave; a thread's own, which is not negative; a number."""

MOST_OWN = 1 << 26
MOST_BYTES = 1 << 31
DEEPEST = 6
"""Sums of sums of … are looked into so far."""


class Places:
    """The indices of one kernel. `sums`: how sums, differences and products came about: operator and operands."""

    def __init__(self, builder: FunctionBuilder, sums: Mapping[str, tuple[str, str, str]]) -> None:
        self._builder = builder
        self._sums = sums
        self._known: dict[str, tuple[Parts, int]] = {}

    def note(self, index: str, shared: str, own: str, below: int) -> None:
        """An index is the sum of these; a thread's part is below a number, at most 2**26. Both are there wherever it is."""
        if own != "0" and below <= MOST_OWN and literal(index) is None:
            self._known[index] = (shared, own, 0), below

    def moved(self, index: str, of: str, shared: str, times: int = 1) -> None:
        """An index is `shared` and so many times another one."""
        (base, own, number), below = self._parts(of, DEEPEST)
        if own != "0" and times > 0 and below * times <= MOST_OWN:
            builder = self._builder
            start = add(builder, shared, multiply(builder, add(builder, base, wrapped(number)), str(times)))
            self.note(index, start, own if times == 1 else builder.emit(f"mul nuw nsw i64 {own}, {times}"), below * times)

    def address(self, pointer: str, indices: list[str], strides: tuple[str, ...]) -> str | None:
        """`pointer` moved by the sum of the products; None if no index has a part of a thread's own."""
        found = [self._parts(index, DEEPEST) for index in indices]
        if all(own == "0" for (_, own, _), _ in found):
            return None
        builder, shared, own, number = self._builder, "0", "0", 0
        for ((start, mine, constant), below), stride in zip(found, strides, strict=True):
            by = literal(stride)
            if by is None:
                if mine != "0":
                    return None
                shared = add(builder, shared, multiply(builder, add(builder, start, wrapped(constant)), stride))
                continue
            if mine != "0" and not 0 < by <= MOST_BYTES // below:
                return None
            shared = add(builder, shared, multiply(builder, start, stride))
            number += constant * by
            if mine != "0":
                product = mine if by == 1 else builder.emit(f"mul nuw nsw i64 {mine}, {by}")
                own = product if own == "0" else builder.emit(f"add nuw nsw i64 {own}, {product}")
        return offset(builder, offset(builder, offset(builder, pointer, shared), own), wrapped(number))

    def _parts(self, index: str, depth: int) -> tuple[Parts, int]:
        """The parts of an operand, and what a thread's own is below."""
        if index in self._known:
            return self._known[index]
        constant = literal(index)
        if constant is not None:
            return ("0", "0", constant), 1
        whole: tuple[Parts, int] = (index, "0", 0), 1
        operator, left, right = self._sums.get(index, ("", "", ""))
        if operator not in ("add", "sub", "mul") or not depth:
            return whole
        (a, mine, m), below = self._parts(left, depth - 1)
        (b, other, n), below_other = self._parts(right, depth - 1)
        if mine == other == "0":
            simple = literal(right) if operator != "mul" else None
            return ((left, "0", simple if operator == "add" else -simple), 1) if simple is not None else whole
        builder = self._builder
        if operator == "add" and "0" in (mine, other):
            return (add(builder, a, b), mine if other == "0" else other, m + n), max(below, below_other)
        if operator == "sub" and other == "0":
            return (subtract(builder, a, b), mine, m - n), below
        times = literal(right) if other == "0" else literal(left) if mine == "0" else None
        if operator == "mul" and times is not None and 0 < times * max(below, below_other) <= MOST_OWN:
            own = builder.emit(f"mul nuw nsw i64 {mine if other == '0' else other}, {times}")
            shared, number = (a, m) if other == "0" else (b, n)
            return (multiply(builder, shared, str(times)), own, number * times), max(below, below_other) * times
        return whole
