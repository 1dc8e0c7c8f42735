"""A call on a device: what is lent goes there, the host function runs, what may have changed comes back.

Does: place the arrays of a binding in a device's memory, copy what the borrows require, call, read results, copy back, free.
Does not: bind (`arguments.py`), choose a device, or compile.
Invariants: a `Ref` is copied in and never back, an `Out` back and never in. An array that is lent twice is copied once. After a
fault nothing is copied back. Whatever happens, the device's memory is given back, and nothing of the call is under way when it
ends.

Arrays on a device lie without gaps, whatever their strides on the host: in the order of columns if they do there, else of rows.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from lend.diagnostics.errors import ArgumentError, DeviceMemoryError, InternalError
from lend.language.abi import FAULT_THREAD, FAULT_WORDS, HOST_LEVEL
from lend.language.moves import Move
from lend.language.signature import ArgumentType
from lend.language.types import ArrayType, Borrow, Layout, ScalarType, array_type
from lend.runtime import profile
from lend.runtime.arguments import Binding
from lend.runtime.arrays import Array, Memory, OnDevice, fetched, placed_at
from lend.runtime.borrows import Lent
from lend.runtime.device_work import Begun, copy_box, error_of, finish, settle
from lend.runtime.devices import Device
from lend.runtime.elements import AnyArray, AnyDtype, dtype_of
from lend.runtime.launch import Executable, check_contracts
from lend.runtime.loaned import Loaned
from lend.runtime.memory import address_of
from lend.runtime.moves import Box, is_fixed, written_box
from lend.runtime.overlap import View, extent
from lend.runtime.results import ResultReader, assemble, empty_array, view_of_lent
from lend.runtime.scalars import value_of, word_count

_FAULT = struct.Struct(f"<{FAULT_WORDS}q")
LAST = 1 << 62
MOST_TESTED = 16


def device_types(binding: Binding) -> tuple[ArgumentType, ...]:
    """The types of a call's arguments once its arrays lie on a device."""
    lent = iter(binding.lent)

    def dense(type: ArrayType) -> ArrayType:
        array = next(lent).array
        if type.layout in (Layout.C, Layout.F) or isinstance(array, OnDevice):
            return type
        return array_type(type.element, type.dimensions, type.borrow, Layout.C)

    def one(type: ArgumentType) -> ArgumentType:
        if isinstance(type, ArrayType):
            return dense(type)
        if isinstance(type, tuple):
            return tuple([dense(item) for item in type])
        return type

    return tuple([one(type) for type in binding.types])


class Placed(NamedTuple):
    """An array of the host and its place on the device. `dense`: without gaps, in the device's order: the array or a copy."""

    array: AnyArray
    dense: AnyArray
    address: int
    comes_back: bool
    lent: Lent
    box: Box | None = None  # what may have been written; None: all of it


def launch_on(device: Device, executable: Executable, binding: Binding) -> Any:
    """Run a specialisation, whose types are `device_types`, on the arguments of `binding`; gives what the kernel returns.

    Raises what `launch` raises, and DeviceError or DeviceMemoryError.
    """
    if executable.contracts:
        check_contracts(executable.kernel, executable.contracts, binding)
    if executable.index_arrays is not None:
        _test_indices(device, executable, binding)
    with device.lock:
        return _Call(device, executable, binding).run()


def _test_indices(device: Device, executable: Executable, binding: Binding) -> None:
    """Look at the elements of index arrays; of those on the device at a copy, once until somebody may have written them."""
    assert executable.index_arrays is not None
    lent: list[Lent] = []
    tested: list[tuple[Memory, Any]] = []
    for entry in binding.lent:
        place = entry.array
        if entry.parameter.kind.facts is None:
            continue
        if isinstance(place, OnDevice):
            key = (entry.parameter, address_of(place), place.shape, place.strides, binding.dims)
            if not place.memory.shared:
                if place.memory.tested.get(key) == place.memory.writes:
                    continue
                tested.append((place.memory, key))
            with device.lock:
                settle(device)
                entry = entry._replace(array=fetched(device, place))
        lent.append(entry)
    executable.index_arrays(cast(Binding, SimpleNamespace(dims=binding.dims, lent=lent)))
    for memory, key in tested:
        if len(memory.tested) >= MOST_TESTED:
            memory.tested.clear()
        memory.tested[key] = memory.writes


class _Call:
    """One call under way. `lazy`: all its arrays live on the device, so that nobody need wait for it."""

    def __init__(self, device: Device, executable: Executable, binding: Binding) -> None:
        self.device = device
        self.executable = executable
        self.binding = binding
        self.placed: dict[Any, Placed] = {}
        self.overwritten: list[Loaned] = []  # all of these is written if the call succeeds
        self.quiet = False  # nothing of the call is under way
        there = [lent.array for lent in binding.lent if isinstance(lent.array, OnDevice)]
        self.lazy = bool(there)
        self.shared = any(place.memory.shared for place in there)
        self.waits = self.shared or len(there) < len(binding.lent)

    def run(self) -> Any:
        """Place, call, bring back."""
        free_released(self.device)
        if self.waits:
            settle(self.device)  # before anything is done: what fails from here on is this call
        try:
            if profile.active is not None and profile.active.calls:
                return self._timed(profile.active.calls[-1])
            words = self._place()
            result = self._call(words)
            self._bring_back()
            if self.shared:  # what the other library begins next comes after
                finish(self.device)
            return result
        finally:
            if self.placed:
                try:
                    if not self.quiet:
                        self.device.finish()
                finally:
                    for placed in self.placed.values():
                        self.device.free(placed.address)

    def _timed(self, call: profile.Call) -> Any:
        """The same, each part waited for."""
        device, clock = self.device, time.perf_counter
        device.finish()
        before, began = (device.bytes_in, device.bytes_out), clock()
        words = self._place()
        device.finish()
        call.to_device = clock() - began
        device.start_clock()
        try:
            result = self._call(words)
        finally:
            call.launches, call.kernel_time = device.stop_clock()
        began = clock()
        self._bring_back()
        call.from_device = clock() - began
        call.bytes_in, call.bytes_out = device.bytes_in - before[0], device.bytes_out - before[1]
        return result

    # ------------------------------------------------------------------------------------------------------- there

    def _place(self) -> list[Any]:
        """Bring the arguments to the device; gives the words of the call."""
        words, lent, position = list(self.binding.words), iter(self.binding.lent), 0
        moves = iter(self.executable.moves)
        for leaf in self.executable.leaves:
            if not isinstance(leaf, ArrayType):
                position += word_count(leaf)
                continue
            entry, count, move = next(lent), leaf.dimensions, next(moves, None)
            if isinstance(entry.array, OnDevice):
                if entry.array.memory.device is not self.device:
                    raise ArgumentError(_elsewhere(entry, entry.array, self.device))
                self._lend(entry, entry.array, leaf, move)
            else:
                placed = self._placed(leaf, entry, move)
                words[position] = placed.address
                words[position + 1 + count : position + 1 + 2 * count] = placed.dense.strides
            position += 1 + 2 * count
        return words

    def _lend(self, lent: Lent, place: OnDevice, leaf: ArrayType, move: Move | None) -> None:
        """An array on the device is lent as a leaf of the arguments."""
        memory, loaned = place.memory, place.memory.loaned
        if loaned is None:
            memory.writes += leaf.borrow.writable
            return
        box = None if move is None else written_box(move, self.binding, place.shape)
        needed = leaf.borrow is not Borrow.OUT and (move is None or box is None or move.needed)
        if needed or not loaned.is_whole(place.shape, box):
            memory.complete()
        elif loaned.source is not None:
            settle(self.device)  # so that what fails from here on is this call
            self.overwritten.append(loaned)
        writer: Any = None
        if leaf.borrow.writable:
            memory.written(place, box)
            if move is None or is_fixed(move, {slot for _, slot in lent.parameter.slots}):
                writer = self.executable  # which writes the same whenever it gets this array
            if loaned.is_all():
                writer = self.device
        array = None if place.array is None else place.array()
        if array is not None:
            array.noted(writer if leaf.borrow.writable else array.writer)

    def _placed(self, type: ArrayType, lent: Lent, move: Move | None) -> Placed:
        array, borrow = lent.array, type.borrow
        key = (address_of(array), array.shape, array.strides, type.layout)
        known = self.placed.get(key)
        if known is not None and array.size:
            return known
        order = "F" if type.layout is Layout.F else "C"
        box = None if move is None else written_box(move, self.binding, array.shape)
        needed = borrow is not Borrow.OUT and (move is None or box is None or move.needed)
        if _lies_so(array, order):
            dense: AnyArray = array
        elif not needed:
            dense = np.empty(array.shape, array.dtype, order)
        else:
            dense = array.copy(order=order)
        placed = Placed(array, dense, self.device.allocate(max(array.nbytes, 1)), borrow.writable, lent, box)
        self.placed[key if array.size else object()] = placed
        if needed and array.size:
            self.device.copy_in(placed.address, address_of(dense), array.nbytes)
        return placed

    # ------------------------------------------------------------------------------------------------------- at work

    def _call(self, words: list[Any]) -> Any:
        executable, layout, device = self.executable, self.executable.arguments, self.device
        try:
            packed = layout.pack(*self.binding.dims, *words)
        except struct.error as error:
            raise InternalError(f"the arguments of {executable.kernel} do not fit its specialisation: {error}") from None
        memory = executable.memory.from_buffer_copy(packed + executable.tail)
        arguments = ctypes.addressof(memory)
        results = arguments + layout.size
        fault = results + executable.reader.layout.size
        epoch, first = device.epoch, device.tags
        failed = executable.function(arguments, results, fault)
        begun(device, executable, _FAULT.unpack_from(memory, fault - arguments) if failed else None, epoch, first)
        if self.overwritten:
            settle(device)  # if it fails, the arrays are what they were
            for loaned in self.overwritten:
                loaned.source = None
        if executable.result is None:
            if self.placed:
                settle(device)
            return None
        given = executable.reader.layout.unpack_from(memory, layout.size)
        owned = self._adopt(executable.reader, given)  # now, since what was begun before may have failed
        settle(device)
        return self._result(executable.reader, given, owned)

    # ------------------------------------------------------------------------------------------------------- and back

    def _bring_back(self) -> None:
        if not self.placed:
            return
        copied = [placed for placed in self.placed.values() if placed.comes_back and placed.array.size]
        for placed in copied:
            if placed.box is None:
                self.device.copy_out(address_of(placed.dense), placed.address, placed.array.nbytes)
            else:
                by_rows = bool(placed.dense.flags.c_contiguous)
                shape, box = (placed.dense.shape, placed.box) if by_rows else (placed.dense.shape[::-1], placed.box[::-1])
                copy_box(self.device, address_of(placed.dense), placed.address, shape, placed.dense.itemsize, box)
        self.device.finish()
        self.quiet = True
        for placed in copied:
            if placed.dense is not placed.array and address_of(placed.dense) != address_of(placed.array):
                own = ... if placed.box is None else tuple([slice(low, high) for low, high in placed.box])
                placed.array[own] = placed.dense[own]

    def _adopt(self, reader: ResultReader, words: Sequence[Any]) -> dict[int, Memory]:
        """The memory that a kernel allocated and returns, by address; freed when nobody holds it."""
        owned: dict[int, Memory] = {}
        for type, own in _leaves(reader, words):
            if isinstance(type, ArrayType) and own[1] and own[1] not in owned:
                owned[own[1]] = Memory(self.device, own[1], 0)
        return owned

    def _result(self, reader: ResultReader, words: Sequence[Any], owned: dict[int, Memory]) -> Any:
        """The value that the kernel returned; arrays of the device's are copied, views of arguments are views of those."""
        values: list[Any] = []
        for type, own in _leaves(reader, words):
            values.append(self._array(type, own, owned) if isinstance(type, ArrayType) else value_of(type, tuple(own)))
        if owned and not self.lazy:
            self.device.finish()
        assert reader.shape is not None
        return assemble(reader.shape, values)

    def _array(self, type: ArrayType, words: Sequence[Any], owned: dict[int, Memory]) -> AnyArray | Array:
        address, allocation = words[0], words[1]
        sizes, strides = words[2 : 2 + type.dimensions], words[2 + type.dimensions :]
        dtype = dtype_of(type.element)
        view = View(address, tuple(sizes), tuple(strides), dtype.itemsize)
        low, high = (address, address) if 0 in sizes else extent(view)
        if self.lazy:
            return self._stays(view, dtype, owned.get(allocation), high)
        if 0 in sizes:
            return empty_array(tuple(sizes), dtype)
        if not allocation:
            for placed in self.placed.values():
                if placed.address <= low and high <= placed.address + placed.array.nbytes:
                    there = _on_host(view, placed)
                    if there is not None:
                        return view_of_lent(there, dtype, type.borrow, [placed.lent])
        try:
            raw = np.empty(high - low, np.uint8)
        except (MemoryError, ValueError):
            raise DeviceMemoryError(f"the host has no memory for an array of {high - low} bytes that a kernel returns") from None
        self.device.copy_out(address_of(raw), low, high - low)
        return np.ndarray(sizes, dtype, raw.data, address - low, strides)

    def _stays(self, view: View, dtype: AnyDtype, memory: Memory | None, end: int) -> Array:
        """A returned array, which lives on the device: in memory of its own, or an argument's."""
        if memory is not None:
            memory.bytes = max(memory.bytes, end - memory.address)
        else:
            lent = [entry.array.memory for entry in self.binding.lent if isinstance(entry.array, OnDevice)]
            memory = next((own for own in lent if own.address <= view.address <= own.address + own.bytes), None)
        if memory is None:
            raise InternalError("a kernel returned an array that is neither its own nor an argument's")
        return Array(placed_at(memory, view.shape, dtype, view.address - memory.address, view.strides))


def _leaves(reader: ResultReader, words: Sequence[Any]) -> Iterator[tuple[ScalarType | ArrayType, Sequence[Any]]]:
    """The types of a result's leaves, each with its words."""
    position = 0
    for type in reader.types:
        assert isinstance(type, ArrayType | ScalarType)
        count = 2 + 2 * type.dimensions if isinstance(type, ArrayType) else word_count(type)
        yield type, words[position : position + count]
        position += count


def begun(device: Device, executable: Executable, record: Sequence[int] | None, epoch: int, first: int) -> None:
    """Note what a host function has begun since `epoch` and tag `first`; raise its error if it has left a record of one."""
    by_device = record is not None and record[FAULT_THREAD] != HOST_LEVEL
    # Looking at the device's record begins to count launches anew, and so does taking a fault from it.
    now, end = (device.epoch - 1, LAST) if by_device else (device.epoch, device.tags)
    call = Begun(executable.kernel, executable.sites, now, first if now == epoch else 0, end)
    if call.end > call.first:
        device.begun.append(call)
    if record is not None:
        raise error_of(device, record, call)


def free_released(device: Device) -> None:
    """Free what nobody owns any more. The device's lock is held."""
    while device.released:
        device.free(device.released.popleft())
    if device.parted:
        device.finish()
        device.parted.clear()


def _elsewhere(lent: Lent, array: OnDevice, device: Device) -> str:
    return f"{lent.parameter.subject} lives on {array.memory.device.name}, and this call runs on {device.name}"


def _on_host(view: View, placed: Placed) -> View | None:
    """The view of the host's array that has the elements of a view of its place on the device; None if there is none."""
    array, dense = placed.array, placed.dense
    at, steps = view.address - placed.address, sorted(zip(dense.strides, dense.shape, array.strides, strict=True), reverse=True)
    address, begins = address_of(array), list[int]()
    for step, size, host in steps:
        index = at // step if size > 1 else 0
        begins.append(index)
        at -= index * step
        address += index * host
    strides: list[int] = []
    for size, stride in zip(view.shape, view.strides, strict=True):
        found = [0] if size == 1 else _strides_along(size, stride, begins, steps)
        if not found:
            return None
        strides.append(found[0])
    return View(address + at, view.shape, tuple(strides), view.itemsize)


def _strides_along(size: int, stride: int, begins: Sequence[int], steps: Sequence[tuple[int, int, int]]) -> list[int]:
    """What a stride on the device is on the host, if it stays within one dimension."""
    for begin, (step, extent_, host) in zip(begins, steps, strict=True):
        if extent_ > 1 and stride % step == 0:
            last = begin + (size - 1) * (stride // step)
            return [stride // step * host] if 0 <= last < extent_ else []
    return []


def _lies_so(array: AnyArray, order: str) -> bool:
    """Whether an array's elements lie without gaps, aligned, in this order."""
    flags: Any = array.flags
    return bool(flags.aligned and (flags.f_contiguous if order == "F" else flags.c_contiguous))
