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
from lend.runtime.settings import Settings, config

if TYPE_CHECKING:
    from lend.driver.definition import Definition
    from lend.driver.kernel import Kernel
    from lend.driver.native_entries import Entry
    from lend.driver.specialisation import Specialisation
    from lend.runtime.arguments import Binding

LONGEST = 16
"""So many entry points are tried; each costs a call that it leaves a few nanoseconds."""


class NativePath:
    """The entry points of a kernel."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._entries: dict[Specialisation, Entry | None] = {}
        self._seen: set[Specialisation] = set()
        self._chain: list[Entry] = []

    def used(self, kernel: Kernel[Any, Any], specialisation: Specialisation, binding: Binding) -> None:
        """Python has bound a call to `specialisation`: see to it that machine code does the next such call."""
        if specialisation not in self._seen:  # many are used only once
            self._seen.add(specialisation)
            return
        if specialisation in self._entries:
            entry = self._entries[specialisation]
            if entry is None:
                return
            if entry in self._chain:
                entry.refresh()  # it has left this call to Python
                return
        from lend.targets.cpu.exclusive import compile_exclusively

        # No lock of our own: a fork waits for compilations, so that none is found half done, and locked, in the child.
        compile_exclusively(lambda: self._add(kernel, specialisation, binding))

    def _add(self, kernel: Kernel[Any, Any], specialisation: Specialisation, binding: Binding) -> None:
        """Make the entry point of a specialisation, unless there is one, and try it first."""
        if specialisation not in self._entries:
            from lend.driver.native_entries import make_entry  # what kernels that are called once do without

            self._entries[specialisation] = make_entry(kernel, self._definition, specialisation, binding)
        entry = self._entries[specialisation]
        if entry is not None and entry not in self._chain:
            entry.refresh()
            self._lead(kernel, [entry, *self._chain[: LONGEST - 1]])

    def _lead(self, kernel: Kernel[Any, Any], chain: list[Entry]) -> None:
        """Try these, in this order."""
        from lend.driver.native_entries import shared_functions

        self._chain = chain
        for entry, following in pairwise(chain):
            entry.lead_to(following.address)
        chain[-1].lead_to(shared_functions().miss)
        vectorcall.route(kernel, chain[0].address)


def apply(settings: Settings, version: int) -> None:
    """The settings of `version` are applied; say so to compiled code, if it may act on its own."""
    config.applied(version if settings.native else -1)
