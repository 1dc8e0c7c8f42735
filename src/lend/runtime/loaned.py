"""A host array that a device has for a while: what of it has yet to go there, and what may have changed there.

Does: say which elements those are, as boxes of the array, whatever views of it were lent to kernels.
Does not: copy (`arrays.py`, `driver/lending.py`).
Invariants: the boxes are disjoint, so that nothing is copied twice, and hold every element that may have been written. Too many
become one, and what is no box of the array counts as all of it: what was not written is what the host has, so that more may be
copied than must be.

Example: rows 1 to 3 of a lent array of 10 by 10, and then row 2 of it: one box, `((1, 4), (0, 10))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from lend.runtime.elements import AnyArray
from lend.runtime.moves import Box

MOST_BOXES = 16


class Loaned:
    """The state of one array by rows without gaps. `source`: the host's elements, by rows too, if they have yet to go there."""

    __slots__ = ("boxes", "itemsize", "shape", "source", "strides")

    def __init__(self, source: AnyArray) -> None:
        self.source: AnyArray | None = source
        self.shape: tuple[int, ...] = source.shape
        self.itemsize: int = source.itemsize
        self.strides: tuple[int, ...] = tuple([source.itemsize * prod(source.shape[k + 1 :]) for k in range(source.ndim)])
        self.boxes: list[Box] = []

    def is_whole(self, shape: Sequence[int], box: Box | None = None) -> bool:
        """Whether a box of a view, or all of it (None), is the whole array."""
        count = prod(shape) if box is None else prod([high - low for low, high in box])
        return count == prod(self.shape)

    def is_all(self) -> bool:
        """Whether all of it may have been written."""
        return sum(prod([high - low for low, high in box]) for box in self.boxes) == prod(self.shape)

    def write(self, offset: int, shape: Sequence[int], strides: Sequence[int], box: Box | None) -> None:
        """A box of a view, or all of it (None), may be written; the view begins `offset` bytes after the array."""
        own = box if box is not None else tuple([(0, size) for size in shape])
        if any(low >= high for low, high in own):
            return
        self._add(self._seen(offset, strides, own) or self._whole())

    def write_all(self) -> None:
        """Anything may be written."""
        self.boxes = [self._whole()] if prod(self.shape) else []

    def _whole(self) -> Box:
        return tuple([(0, size) for size in self.shape])

    def _seen(self, offset: int, strides: Sequence[int], box: Box) -> Box | None:
        """A box of a view as one of the array: from its first element to its last in each dimension; None if it is no box."""
        steps: list[tuple[int, int]] = []
        for stride, (low, high) in zip(strides, box, strict=True):
            offset += (low if stride >= 0 else high - 1) * stride
            if high - low > 1 and stride:
                steps.append((abs(stride), high - low - 1))
        first, rest = self._place(offset)
        last = list(first)
        for step, count in steps:
            along, odd = self._place(step)
            moved = [k for k, distance in enumerate(along) if distance]
            if odd or len(moved) != 1:
                return None
            last[moved[0]] += along[moved[0]] * count
        if rest or any(end >= size for end, size in zip(last, self.shape, strict=True)):
            return None
        return tuple([(begin, end + 1) for begin, end in zip(first, last, strict=True)])

    def _place(self, bytes: int) -> tuple[list[int], int]:
        """The subscripts of a distance in memory, and what is left of it."""
        found: list[int] = []
        for stride in self.strides:
            index, bytes = divmod(bytes, stride)
            found.append(index)
        return found, bytes

    def _add(self, box: Box) -> None:
        pieces = [box]
        for known in self.boxes:
            pieces = [rest for piece in pieces for rest in _without(piece, known)]
        self.boxes += pieces
        if len(self.boxes) > MOST_BOXES:
            bounds = zip(*self.boxes, strict=True)
            self.boxes = [tuple([(min(low for low, _ in own), max(high for _, high in own)) for own in bounds])]


def _without(box: Box, other: Box) -> Iterator[Box]:
    """What of a box is outside of another one, as disjoint boxes."""
    if any(high <= first or last <= low for (low, high), (first, last) in zip(box, other, strict=True)):
        yield box
        return
    for k, ((low, high), (first, last)) in enumerate(zip(box, other, strict=True)):
        before, after = box[:k], box[k + 1 :]
        if low < first:
            yield (*before, (low, first), *after)
        if last < high:
            yield (*before, (last, high), *after)
        box = (*before, (max(low, first), min(high, last)), *after)
