"""The native path: compiled entry points of one kernel, tried one after another before Python binds a call.

Does: have the entry point of a specialisation made when it is used for the second time, put it before the others, and lead calls
there.
Does not: make entry points (`native_entries.py`) or bind calls.
Invariants: without an entry point, or where all of them leave a call, the kernel's `__call__` gets it as it came. Entry
points live as long as their kernel; they hold every object that they compare with.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lend.runtime import vectorcall
from lend.runtime.arrays import OnDevice as Place
from lend.runtime.settings import Settings, config, snapshot
from lend.targets.cpu.exclusive import compile_exclusively

if TYPE_CHECKING:
    from lend.driver.definition import Definition
    from lend.driver.native_entries import Entry
    from lend.driver.specialisation import Specialisation
    from lend.runtime.arguments import Binding
    from lend.targets.device import DriverDevice

LONGEST = 16
"""So many entry points are tried; each costs a call that it leaves a few nanoseconds."""


class NativePath:
    """The entry points of a kernel, or of a kernel on a device: of what is called, `owner`."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._entries: dict[tuple[Specialisation, bool], Entry | None] = {}
        self._seen: set[tuple[Specialisation, bool]] = set()
        self._chain: list[Entry] = []

    def used(self, owner: Any, specialisation: Specialisation, binding: Binding, device: DriverDevice | None = None) -> None:
        """Python has bound a call to `specialisation`: see to it that machine code does the next such call."""
        resident = False
        if device is not None:
            there = [type(lent.array) is Place for lent in binding.lent]
            resident = any(there)
            if resident and not all(there):
                return
        key = (specialisation, resident)
        if key not in self._seen:  # many are used only once
            self._seen.add(key)
            return
        if key in self._entries:
            entry = self._entries[key]
            if entry is None:
                return
            if entry in self._chain:
                entry.refresh()  # it has left this call to Python
                return
        # No lock of our own: a fork waits for compilations, so that none is found half done, and locked, in the child.
        compile_exclusively(lambda: self._add(owner, key, binding, device))

    def _add(self, owner: Any, key: tuple[Specialisation, bool], binding: Binding, device: DriverDevice | None) -> None:
        """Make the entry point of a specialisation, unless there is one, and try it first."""
        if key not in self._entries:
            from lend.driver.native_entries import make_entry  # what kernels that are called once do without

            self._entries[key] = make_entry(owner, self._definition, key[0], binding, _way(device, *key))
        entry = self._entries[key]
        if entry is not None and entry not in self._chain:
            entry.refresh()
            self._lead(owner, [entry, *self._chain[: LONGEST - 1]])

    def _lead(self, owner: Any, chain: list[Entry]) -> None:
        """Try these, in this order."""
        from lend.driver.native_entries import shared_functions

        self._chain = chain
        for entry, following in pairwise(chain):
            entry.lead_to(following.address)
        chain[-1].lead_to(shared_functions().miss)
        vectorcall.route(owner, chain[0].address)


def _way(device: DriverDevice | None, specialisation: Specialisation, resident: bool) -> Any:
    """How calls run: on the processor, or on a device, with arrays that live there or go there."""
    if device is None:
        from lend.driver.native_entries import Here

        return Here(specialisation.executable)
    from lend.driver.device_entries import Moved, Stays

    return (Stays if resident else Moved)(device, specialisation.executable, snapshot().elements)


def apply(settings: Settings, version: int) -> None:
    """The settings of `version` are applied; say so to compiled code, if it may act on its own."""
    config.applied(version if settings.native else -1)


def apply_on_devices(settings: Settings, version: int) -> None:
    """The same for calls that go to a device whatever the settings say."""
    config.applied_on_devices(version if settings.native else -1, settings.elements)
