"""The native path: compiled entry points of one kernel, tried one after another before Python binds a call.

Does: make the entry point of a specialisation when it is used for the second time, put it before the others, and lead calls
there.
Does not: write machine code (`targets/cpu/entry.py`) or bind calls.
Invariants: without an entry point, or where all of them leave a call, the kernel's `__call__` gets it as it came. Entry
points live as long as their kernel; they hold every object that they compare with.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from lend.diagnostics.errors import LendError
from lend.language.abi import FAULT_WORDS
from lend.runtime import vectorcall
from lend.runtime.faults import fault_error, fault_of
from lend.runtime.results import plain_owners
from lend.runtime.settings import Settings, config

if TYPE_CHECKING:
    from lend.driver.definition import Definition
    from lend.driver.kernel import Kernel
    from lend.driver.specialisation import Specialisation
    from lend.runtime.arguments import Binding
    from lend.runtime.launch import Executable
    from lend.targets.cpu.entry import EntryCode
    from lend.targets.cpu.hand_written import Code

LONGEST = 16
"""So many entry points are tried; each costs a call that it leaves a few nanoseconds."""


class Entry:
    """A loaded entry point. `next` leads to where the calls go that it leaves."""

    def __init__(self, code: EntryCode, module: Code) -> None:
        from lend.targets.cpu.entry import ENTRY, NEXT

        self._module = module
        self._objects = list(code.objects)
        self._watched = code.watched
        self._table = load_objects(module, self._objects)
        self._next = ctypes.c_void_p.from_address(module.data_address(NEXT))
        self.address = module.address(ENTRY)

    def lead_to(self, address: int) -> None:
        """Where calls go that this entry leaves."""
        self._next.value = address

    def refresh(self) -> None:
        """Compare with the captured values as they are now, which are found to be equal to what they were."""
        from lend.frontend.capture import captured_value

        for slot, owner, name in self._watched:
            value = captured_value(owner, name)
            if value is not self._objects[slot]:
                self._objects[slot] = value
                self._table[slot] = id(value)


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
        entry = self._entries.get(specialisation, self)
        if entry is None:
            return
        if isinstance(entry, Entry) and entry in self._chain:
            entry.refresh()  # it has left this call to Python
            return
        from lend.targets.cpu.exclusive import compile_exclusively

        # No lock of our own: a fork waits for compilations, so that none is found half done, and locked, in the child.
        compile_exclusively(lambda: self._add(kernel, specialisation, binding))

    def _add(self, kernel: Kernel[Any, Any], specialisation: Specialisation, binding: Binding) -> None:
        """Make the entry point of a specialisation, unless there is one, and try it first."""
        if specialisation not in self._entries:
            self._entries[specialisation] = _make_entry(kernel, self._definition, specialisation, binding)
        entry = self._entries[specialisation]
        if entry is not None and entry not in self._chain:
            entry.refresh()
            self._lead(kernel, [entry, *self._chain[: LONGEST - 1]])

    def _lead(self, kernel: Kernel[Any, Any], chain: list[Entry]) -> None:
        """Try these, in this order."""
        self._chain = chain
        for entry, following in pairwise(chain):
            entry.lead_to(following.address)
        chain[-1].lead_to(_shared().functions.miss)
        vectorcall.route(kernel, chain[0].address)


def apply(settings: Settings, version: int) -> None:
    """The settings of `version` are applied; say so to compiled code, if it may act on its own."""
    config.applied(version if settings.native else -1)


class _Shared:
    """What all entry points share, compiled once for the process. At the end of every chain, `Kernel.__call__` is called."""

    def __init__(self) -> None:
        from lend.driver.kernel import Kernel
        from lend.targets.cpu.entry_builder import SUPPORT, Support
        from lend.targets.cpu.entry_support import support_code, support_name
        from lend.targets.cpu.hand_written import assemble
        from lend.targets.cpu.python_abi import function_addresses, python_abi

        abi = python_abi()
        assert abi is not None
        call = Kernel.__dict__["__call__"]
        text, self._objects = support_code(call, plain_owners(), abi)
        self._module = assemble(text, function_addresses())
        load_objects(self._module, self._objects)
        self.functions = Support(**{name: self._module.address(support_name(name)) for name in SUPPORT})


@cache
def _shared() -> _Shared:
    return _Shared()


def load_objects(module: Code, objects: list[Any]) -> Any:
    """Fill a module's table; the caller keeps the objects."""
    from lend.targets.cpu.entry_builder import OBJECTS, Address

    table = (ctypes.c_uint64 * len(objects)).from_address(module.data_address(OBJECTS))
    for place, value in enumerate(objects):
        table[place] = value.value if isinstance(value, Address) else id(value)
    return table


def _make_entry(
    kernel: Kernel[Any, Any], definition: Definition, specialisation: Specialisation, binding: Binding
) -> Entry | None:
    from lend.targets.cpu.entry import EntryPlan, entry_code
    from lend.targets.cpu.hand_written import assemble
    from lend.targets.cpu.python_abi import function_addresses, python_abi

    abi = python_abi()
    if abi is None or not vectorcall.enabled(type(kernel)):
        return None
    executable = specialisation.executable
    plan = EntryPlan(
        signature=definition.signature,
        types=binding.types,
        given=binding.given,
        dtypes=tuple(lent.array.dtype for lent in binding.lent),
        captured=definition.captured,
        contracts=definition.conditions(),
        watched=tuple((dependency.owner, dependency.name) for dependency in specialisation.dependencies),
        result=executable.result,
        loops=specialisation.loops,
        kernel=executable.address,
        fault=_raiser(executable),
        settings=config.versions_address,
        support=_shared().functions,
    )
    code = entry_code(plan, abi)
    return None if code is None else Entry(code, assemble(code.ir, function_addresses()))


def _raiser(executable: Executable) -> Any:
    """What compiled code calls after a fault."""

    def fault(record: bytes) -> NoReturn:
        words = memoryview(record).cast("q").tolist()
        assert len(words) == FAULT_WORDS
        error: LendError = fault_error(executable.kernel, fault_of(words, executable.sites))
        raise error

    return fault
