"""Arrays that lie in memory-mapped files: where in the file, so that two mappings of one file can be compared.

Does: find the mapping under an array and the file range that its memory shows.  Does not: compare ranges (`overlap.py`).
Invariants: what is not known to be a shared mapping of a named file gives None; writes into a private (copy-on-write) mapping
reach nobody else, so a written array counts only if its mapping is shared.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, NamedTuple

import numpy as np

from lend.runtime.elements import AnyArray, is_array


class Mapping(NamedTuple):
    """A stretch of memory that shows a file: `file` identifies it, `shift` added to an address gives the file's offset."""

    file: tuple[int, int]
    shift: int
    shared: bool


def lies_in_mapping(array: AnyArray) -> bool:
    """Whether the array's memory belongs to a Python `mmap` (as `np.memmap`'s and shared memory's does)."""
    return _mapping_under(array)[0]


def mapping_of(array: AnyArray, address: int) -> Mapping | None:
    """The mapping that holds `address`, an element of `array`; None if the array is not mapped or its file cannot be told."""
    mapped, memmap = _mapping_under(array)
    if not mapped:
        return None
    try:
        return _from_system(address)
    except OSError:
        return None if memmap is None else _from_memmap(memmap)


def _mapping_under(array: AnyArray) -> tuple[bool, Any]:
    """Whether an `mmap` owns the memory, and the outermost `np.memmap` on the way to it."""
    memmap: Any = None
    owner: Any = array
    while owner is not None:
        if isinstance(owner, mmap.mmap):
            return True, memmap
        if is_array(owner):
            memmap = owner if _is_memmap(owner) else memmap
            owner = owner.base
        elif isinstance(owner, memoryview):
            owner = owner.obj
        else:
            return False, None
    return False, None


def _is_memmap(value: Any) -> bool:
    return isinstance(value, np.memmap)


def _from_system(address: int) -> Mapping | None:
    """From the system's list of this process's mappings (Linux). Raises OSError where there is none."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            stretch, mode, offset, device, inode = line.split(maxsplit=5)[:5]
            start, end = (int(part, 16) for part in stretch.split("-"))
            if start <= address < end:
                if inode == "0":
                    return None
                major, minor = (int(part, 16) for part in device.split(":"))
                return Mapping((os.makedev(major, minor), int(inode)), int(offset, 16) - start, mode[3] == "s")
    return None


def _from_memmap(memmap: Any) -> Mapping | None:
    """From what the `np.memmap` says of itself: its file's name as it is now, and its offset there."""
    if memmap.filename is None:
        return None
    try:
        status = os.stat(memmap.filename)
    except OSError:
        return None
    return Mapping((status.st_dev, status.st_ino), int(memmap.offset) - int(memmap.ctypes.data), memmap.mode != "c")
