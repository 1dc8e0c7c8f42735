"""Arguments of one call against each other: nothing that is written may lie where another argument lies.

Does: compare every array lent for writing with every other array, by extent first and then exactly; two mappings of one file too.
Does not: decide on strides (`overlap.py`) or compare an array with itself (`borrows.py`).
Invariants: exact to the byte (`a[::2]` and `a[1::2]` may be lent together); what cannot be decided is refused and says so.
"""

from __future__ import annotations

from lend.diagnostics.errors import BorrowError
from lend.runtime.arrays import OnDevice
from lend.runtime.borrows import Lent
from lend.runtime.mapped import lies_in_mapping, mapping_of
from lend.runtime.memory import view_of
from lend.runtime.overlap import overlaps


def check_aliases(lent: list[Lent]) -> None:
    """Raise BorrowError if an array lent for writing overlaps another."""
    count = len(lent)
    if count < 2:
        return
    if count > 8:
        _sweep(lent)
    else:
        for position in range(1, count):
            parameter, _, low, high = lent[position]
            for other in range(position):
                first = lent[other]
                if first[2] < high and low < first[3] and (parameter.writable or first[0].writable):
                    _check_pair(first, lent[position])
    owned = 0
    for entry in lent:
        if entry[1].base is None or type(entry[1]) is OnDevice:
            owned += 1
    if count - owned > 1:
        _check_mappings(lent)


def _sweep(lent: list[Lent]) -> None:
    """The same for many arrays: in order of address, only those whose extents meet are compared."""
    order = sorted(
        (position for position, entry in enumerate(lent) if entry.low < entry.high), key=lambda position: lent[position].low
    )
    reaching: list[int] = []
    for position in order:
        reaching = [other for other in reaching if lent[other].high > lent[position].low]
        for other in reaching:
            if lent[position].parameter.writable or lent[other].parameter.writable:
                _check_pair(lent[min(position, other)], lent[max(position, other)])
        reaching.append(position)


def _check_pair(first: Lent, second: Lent) -> None:
    overlap = overlaps(view_of(first.array), view_of(second.array))
    if overlap is not False:
        raise _conflict(first, second, overlap, "share memory")


def _check_mappings(lent: list[Lent]) -> None:
    """Two mappings of one file have different addresses and the same bytes."""
    mapped = [entry for entry in lent if entry.low < entry.high and lies_in_mapping(entry.array)]
    if len(mapped) < 2 or not any(entry.parameter.writable for entry in mapped):
        return
    placed = [(entry, mapping_of(entry.array, entry.low)) for entry in mapped]
    for position, (first, first_mapping) in enumerate(placed):
        for second, second_mapping in placed[position + 1 :]:
            if first_mapping is None or second_mapping is None or first_mapping.file != second_mapping.file:
                continue
            written = (first.parameter.writable and first_mapping.shared) or (second.parameter.writable and second_mapping.shared)
            if not written:
                continue
            first_view, second_view = view_of(first.array), view_of(second.array)
            overlap = overlaps(
                first_view._replace(address=first_view.address + first_mapping.shift),
                second_view._replace(address=second_view.address + second_mapping.shift),
            )
            if overlap is not False:
                raise _conflict(first, second, overlap, "map the same bytes of one file")


def _conflict(first: Lent, second: Lent, overlap: bool | None, how: str) -> BorrowError:
    written, other = (first, second) if first.parameter.writable else (second, first)
    kernel, borrow = written.parameter.kernel, written.parameter.kind.borrow.value
    if overlap is None:
        return BorrowError(
            f"{kernel}: {written.parameter.name} is lent as {borrow}, and whether it overlaps {other.parameter.name} could "
            f"not be decided for strides {written.array.strides} and {other.array.strides}: pass views of simpler strides, "
            "or a copy of one"
        )
    return BorrowError(
        f"{kernel}: {written.parameter.name} is lent as {borrow} but {first.parameter.name} and {second.parameter.name} {how}: "
        f"pass arrays that do not overlap, such as {other.parameter.name}.copy()"
    )
