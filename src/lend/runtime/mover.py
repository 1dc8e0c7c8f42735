"""Calls on a device with arrays of the host, whose words compiled code has packed: there, run, back.

Does: what `device_launch.py` does for a binding, without one: for calls of one specialisation whose arrays lie without gaps.
Does not: bind, test elements, judge contracts (the entry point has), or copy arrays that lie otherwise.
Invariants: those of `device_launch.py`. What follows from sizes and scalars is kept for calls with the same.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from lend.language.abi import FAULT_WORDS
from lend.language.moves import Move
from lend.language.types import ArrayType, Borrow, Layout, size_of
from lend.runtime.arguments import Binding
from lend.runtime.device_launch import begun, free_released
from lend.runtime.device_work import settle
from lend.runtime.devices import Device
from lend.runtime.launch import Executable
from lend.runtime.moves import Rows, count_of, rows_of, scalars_of, written_box
from lend.runtime.scalars import word_count

_FAULT = struct.Struct(f"<{FAULT_WORDS}q")


class _Array(NamedTuple):
    """An array parameter: its word, its place among the leaves, its type and how much of it a call needs."""

    word: int
    leaf: int
    type: ArrayType
    move: Move | None


class _Transfer(NamedTuple):
    """What is copied of an array: its bytes, whether it goes there, and which stretches come back."""

    word: int
    bytes: int
    goes: bool
    back: Rows | None


class Mover:
    """What makes the calls of one specialisation on one device."""

    def __init__(self, device: Device, executable: Executable) -> None:
        self._device = device
        self._executable = executable
        self._arrays: list[_Array] = []
        word, moves = executable.dimensions, iter(executable.moves)
        for leaf, type in enumerate(executable.leaves):
            if isinstance(type, ArrayType):
                self._arrays.append(_Array(word, leaf, type, next(moves, None)))
                word += 1 + 2 * type.dimensions
            else:
                word += word_count(type)
        self._deciding = _words_at(self._places())
        self._key: Any = self  # no key of a call
        self._plan: tuple[_Transfer, ...] = ()
        self.run = self.__call__
        """The same object each time, for compiled code."""

    def __call__(self, packed: bytes) -> Any:
        """Make a call with these words; gives what the kernel returns."""
        device, executable = self._device, self._executable
        memory = executable.memory.from_buffer_copy(packed + executable.tail)
        words = executable.arguments.unpack(packed)
        with device.lock:
            if device.released:
                free_released(device)
            placed: dict[Any, int] = {}
            quiet = False
            try:
                key = self._deciding(words)
                if key != self._key:
                    binding = self._binding(words)
                    self._plan = tuple([self._transfer(array, binding, words) for array in self._arrays])
                    self._key = key
                back = self._place(words, memory, placed)
                result = self._launch(memory)
                self._bring_back(back)
                quiet = True
                return result
            finally:
                try:
                    if not quiet:
                        device.finish()
                finally:
                    for address in reversed(placed.values()):  # so that the next call finds each array's own first
                        device.free(address)

    # ------------------------------------------------------------------------------------------------------- what moves

    def _places(self) -> list[int]:
        """The words that decide what moves: sizes, and the scalars that some array's box depends on. (Of a scalar's word, a part
        may be anything.)"""
        dimensions = self._executable.dimensions
        places = list(range(dimensions))
        for array in self._arrays:
            places += range(array.word + 1, array.word + 1 + array.type.dimensions)
        leaves = {leaf for array in self._arrays if array.move is not None for leaf in scalars_of(array.move)}
        at = dimensions
        for leaf, type in enumerate(self._executable.leaves):
            if leaf in leaves:
                places.append(at)
            at += 1 + 2 * type.dimensions if isinstance(type, ArrayType) else word_count(type)
        return places

    def _transfer(self, array: _Array, binding: Binding, words: Sequence[int]) -> _Transfer:
        type, first = array.type, array.word + 1
        shape = tuple(words[first : first + type.dimensions])
        itemsize = size_of(type.element)
        count = 1
        for size in shape:
            count *= size
        box = None if array.move is None else written_box(array.move, binding, shape)
        needed = type.borrow is not Borrow.OUT and (array.move is None or box is None or array.move.needed)
        back: Rows | None = None
        if type.borrow.writable and count:
            if box is None:
                back = Rows(count * itemsize, 1, 0, (0,))
            elif count_of(box):
                rows = type.layout is not Layout.F
                back = rows_of(box if rows else box[::-1], shape if rows else shape[::-1], itemsize)
        return _Transfer(array.word, count * itemsize, needed and count > 0, back)

    def _binding(self, words: Sequence[Any]) -> Binding:
        """The sizes and scalars of a call, where `moves.py` looks for them."""
        executable = self._executable
        leaves: list[Any] = []
        at = executable.dimensions
        for type in executable.leaves:
            leaves.append(words[at])
            at += 1 + 2 * type.dimensions if isinstance(type, ArrayType) else word_count(type)
        return cast(Binding, SimpleNamespace(dims=words[: executable.dimensions], leaves=leaves))

    # ------------------------------------------------------------------------------------------------------- there and back

    def _place(self, words: Sequence[int], memory: Any, placed: dict[Any, int]) -> list[tuple[Rows, int, int]]:
        """Bring the arrays to the device, each once; their addresses there become words of the call. Gives what comes back."""
        device = self._device
        back: list[tuple[Rows, int, int]] = []
        for word, bytes, goes, rows in self._plan:
            host = words[word]
            key = (host, bytes) if bytes else word  # empty arrays have each their own place
            address = placed.get(key)
            if address is None:
                address = placed[key] = device.allocate(bytes or 1)
                if goes:
                    device.copy_in(address, host, bytes)
            _WORD.pack_into(memory, 8 * word, address)
            if rows is not None:
                back.append((rows, host, address))
        return back

    def _launch(self, memory: Any) -> Any:
        """Run the host function; gives what the kernel returns."""
        device, executable = self._device, self._executable
        start = ctypes.addressof(memory)
        results = start + executable.arguments.size
        fault = results + executable.reader.layout.size
        epoch, first = device.epoch, device.tags
        failed = executable.function(start, results, fault)
        if failed or device.tags != first or device.epoch != epoch:
            begun(device, executable, _FAULT.unpack_from(memory, fault - start) if failed else None, epoch, first)
        if device.begun:
            settle(device)
        return None if executable.result is None else executable.reader.read(memory, executable.arguments.size, ())

    def _bring_back(self, arrays: Sequence[tuple[Rows, int, int]]) -> None:
        """Copy what may have been written, and wait."""
        device = self._device
        if len(arrays) == 1:
            (width, many, _, starts), host, address = arrays[0]
            if many == 1 == len(starts):
                device.bring(host + starts[0], address + starts[0], width)
                return
        for rows, host, address in arrays:
            for start in rows.starts:
                if rows.many == 1:
                    device.copy_out(host + start, address + start, rows.width)
                else:
                    device.copy_rows_out(host + start, address, start, rows.width, rows.many, rows.pitch)
        device.finish()


_WORD = struct.Struct("<q")


def _words_at(places: Sequence[int]) -> Callable[[Sequence[int]], Any]:
    """What gives the words at these places, as something that differs where one of them does."""
    return itemgetter(*places) if places else lambda words: None
