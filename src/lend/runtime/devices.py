"""What the runtime asks of a device, whatever drives it.

Does: say it.  Does not: find devices or make them (`driver/devices.py`).
Invariants: work is done in the order in which it was begun; memory that is freed may be given to later work at once. Addresses
are numbers that mean nothing on the host.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lend.diagnostics.errors import LendError

if TYPE_CHECKING:
    from lend.runtime.device_work import Begun


class Usage(NamedTuple):
    """Bytes: in use, kept for later, the most that were in use, and by how much blocks are larger than what was asked for."""

    live: int
    cached: int
    peak: int
    lost: int


class Device(Protocol):
    """A device with memory of its own. Whoever uses it holds `lock`.

    tag_shift: launches that can fault record position + (their number << tag_shift). begun: calls whose faults nobody has looked
    at. released: memory that is to be freed, by whoever holds the lock next. parted: what others lent and nobody uses any more,
    to be dropped once nothing that was begun uses it. kind: its target. number: its place among the driver's devices. stream: the
    driver's handle of what runs its work in order, for other libraries; 0 if there is none.
    """

    name: str
    lock: threading.RLock
    tag_shift: int
    begun: list[Begun]
    released: deque[int]
    parted: deque[Any]
    kind: str
    number: int

    @property
    def stream(self) -> int: ...

    @property
    def epoch(self) -> int:
        """How often the record of faults was looked at, and is empty now."""
        ...

    @property
    def tags(self) -> int:
        """How many launches since then can have recorded a fault."""
        ...

    def allocate(self, bytes: int) -> int:
        """Memory. Raises DeviceMemoryError."""
        ...

    def free(self, address: int) -> None:
        """Give it back."""
        ...

    def usage(self) -> tuple[int, int, int, int]:
        """The numbers of a `Usage`."""
        ...

    def copy_in(self, device: int, host: int, bytes: int) -> None:
        """Begin to copy to the device; the host's memory stays as it is until `finish`."""
        ...

    def copy_out(self, host: int, device: int, bytes: int) -> None:
        """Begin to copy from the device; it is there after `finish`."""
        ...

    def bring(self, host: int, device: int, bytes: int) -> None:
        """Copy from the device, and wait for everything that was begun."""
        ...

    def copy_rows_out(self, host: int, block: int, offset: int, width: int, rows: int, pitch: int) -> None:
        """Begin to copy rows of `width` bytes that lie `pitch` apart, on both sides, from `offset` in a block of memory on."""
        ...

    def zero(self, device: int, bytes: int) -> None:
        """Begin to clear memory."""
        ...

    @property
    def bytes_in(self) -> int:
        """How many bytes of arrays were copied to the device."""
        ...

    @property
    def bytes_out(self) -> int:
        """How many bytes of arrays and partial results were copied from the device."""
        ...

    def start_clock(self) -> None:
        """Have the next launches timed by the device."""
        ...

    def stop_clock(self) -> tuple[int, float]:
        """How many launches were begun since, and the seconds that they took."""
        ...

    def number_of(self, address: int) -> int:
        """The driver's number of the device whose memory that is, of this kind."""
        ...

    def wait_for(self, stream: int) -> None:
        """Wait for another library's stream of this device."""
        ...

    def finish(self) -> None:
        """Wait for everything that was begun."""
        ...

    def settle(self, fault: int) -> bool:
        """Wait for launches that can fault; whether one has, and then its record is at `fault`."""
        ...

    def raised(self) -> Exception | None:
        """What went wrong in a function that the last host function called, if anything did; told once."""
        ...

    def failure(self, bytes: int) -> LendError:
        """Why the last host function gave up; `bytes`: what it wanted for partial results, if that was it, else 0."""
        ...
