"""Who holds memory of devices: `lend.memory()`.

Does: count live, waiting and most bytes of each device in use; name the lines that made the arrays which are alive.
Does not: allocate or free.
Invariants: looking changes nothing and waits for nothing.

Example: `print(lend.memory())` prints `opencl:0  live 7.6 MiB  cached 0 B  peak 15.3 MiB` and what holds how much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lend.runtime.arrays import holders
from lend.runtime.devices import Device, Usage


@dataclass(frozen=True)
class Holder:
    """A line of a program, and the bytes of the arrays that it made and that live."""

    place: str
    bytes: int
    arrays: int


@dataclass(frozen=True)
class DeviceMemory:
    """One device's memory, in bytes.

    live: in use. cached: freed, and kept for later arrays. peak: the most that was in use. lost: what blocks in use are larger
    than what was asked for. holders: who has made the arrays that live, the largest first.
    """

    device: str
    live: int
    cached: int
    peak: int
    lost: int
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        sizes = (("live", self.live), ("cached", self.cached), ("peak", self.peak), ("lost to rounding", self.lost))
        head = f"{self.device}  " + "  ".join(f"{name} {readable(size)}" for name, size in sizes)
        lines = [
            f"  {readable(holder.bytes):>10}  {holder.arrays} array{'s' if holder.arrays != 1 else ''}  {holder.place}"
            for holder in self.holders
        ]
        return "\n".join([head, *lines])


class MemoryReport(tuple[DeviceMemory, ...]):
    """The memory of all devices that this process has used."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no device has been used"

    __str__ = __repr__


def report(devices: Iterable[Device]) -> MemoryReport:
    """The memory of these devices."""
    return MemoryReport([_of(device) for device in devices])


def _of(device: Device) -> DeviceMemory:
    made: dict[str, list[int]] = defaultdict(list)
    for memory in holders():
        if memory.device is device:
            made[memory.place].append(memory.bytes)
    found = [Holder(place, sum(sizes), len(sizes)) for place, sizes in made.items()]
    usage = Usage(*device.usage())
    return DeviceMemory(
        device.name,
        usage.live,
        usage.cached,
        usage.peak,
        usage.lost,
        tuple(sorted(found, key=lambda holder: (-holder.bytes, holder.place))),
    )


def readable(size: int) -> str:
    """A number of bytes, for people."""
    number, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
