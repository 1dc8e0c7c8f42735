"""Calling compiled code: contracts, words, the call itself, the fault or the result.

Does: what stands between a binding and a compiled host function (`language/abi.py`).  Does not: bind arguments or compile.
Invariants: contracts are judged, and index arrays tested, before anything runs; the GIL is released while the function runs;
after a fault nothing is returned; the function's code and the arguments live until the call is over.

Example: `launch(executable, Binder(signature).bind(args, kwargs))`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import field
from typing import Any

from lend.diagnostics.errors import ContractError, InternalError
from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.language.abi import FAULT_THREAD, FAULT_WORDS, NO_FAULT
from lend.language.moves import Move
from lend.language.signature import Contract, ResultShape
from lend.language.types import ArrayType, Type
from lend.runtime.arguments import Binding
from lend.runtime.faults import fault_error, fault_of
from lend.runtime.results import Release, ResultReader
from lend.runtime.scalars import FORMATS

HostFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""`i32 kernel(ptr arguments, ptr results, ptr fault)`; ctypes releases the GIL around it."""

_FAULT = struct.Struct(f"<{FAULT_WORDS}q")
_NO_FAULT_WORDS = [0] * FAULT_WORDS
_NO_FAULT_WORDS[FAULT_THREAD] = NO_FAULT
_NO_FAULT_RECORD = _FAULT.pack(*_NO_FAULT_WORDS)


@dataclass(frozen=True, eq=False)
class Executable:
    """One specialisation, compiled and loaded.

    address: of the host function. dimensions: how many sizes precede the arguments. leaves: the types of the argument leaves.
    keep_alive: whatever owns the machine code. index_arrays: what tests the elements of index arrays; every call needs it.
    release: frees arrays that the function allocates and returns. moves: what a device needs of each array, where that is known.
    """

    kernel: str
    address: int
    dimensions: int
    leaves: tuple[Type, ...]
    result: ResultShape | None
    sites: tuple[Site, ...]
    contracts: tuple[Contract, ...] = ()
    keep_alive: Any = None
    index_arrays: Callable[[Binding], None] | None = None
    release: Release | None = None
    moves: tuple[Move | None, ...] = ()
    function: Callable[[int, int, int], int] = field(init=False, repr=False)
    reader: ResultReader = field(init=False, repr=False)
    arguments: struct.Struct = field(init=False, repr=False)
    memory: type[ctypes.Array[ctypes.c_char]] = field(init=False, repr=False)
    tail: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        formats = "".join(
            f"Q{2 * leaf.dimensions}q" if isinstance(leaf, ArrayType) else FORMATS[leaf.name] for leaf in self.leaves
        )
        set_field = object.__setattr__
        set_field(self, "function", HostFunction(self.address))
        set_field(self, "reader", ResultReader(self.result, self.release))
        set_field(self, "arguments", struct.Struct(f"<{self.dimensions}q{formats}"))
        set_field(self, "tail", bytes(self.reader.layout.size) + _NO_FAULT_RECORD)
        set_field(self, "memory", ctypes.c_char * (self.arguments.size + len(self.tail)))


def launch(executable: Executable, binding: Binding) -> Any:
    """Run a specialisation on the arguments of `binding`, which has its types, and give what the kernel returns.

    Raises ContractError, and BoundsError or BorrowError for index arrays, before anything runs, and the fault's exception after.
    """
    if executable.contracts:
        check_contracts(executable.kernel, executable.contracts, binding)
    if executable.index_arrays is not None:
        executable.index_arrays(binding)
    layout = executable.arguments
    try:
        packed = layout.pack(*binding.dims, *binding.words)
    except struct.error as error:
        raise InternalError(f"the arguments of {executable.kernel} do not fit its specialisation: {error}") from None
    memory = executable.memory.from_buffer_copy(packed + executable.tail)
    arguments = ctypes.addressof(memory)
    results = arguments + layout.size
    fault = results + executable.reader.layout.size
    status = executable.function(arguments, results, fault)
    if status:
        words = _FAULT.unpack_from(memory, fault - arguments)
        raise fault_error(executable.kernel, fault_of(words, executable.sites))
    return None if executable.result is None else executable.reader.read(memory, layout.size, binding.lent)


def check_contracts(kernel: str, contracts: tuple[Contract, ...], binding: Binding) -> None:
    """Raise ContractError for the first contract that is false for these arguments."""
    values = binding.values
    for contract in contracts:
        try:
            holds = contract.holds(values)
        except ArithmeticError as error:
            raise _broken(kernel, contract, values, f"cannot be evaluated ({error})") from None
        if not holds:
            raise _broken(kernel, contract, values, "is false")


def _broken(kernel: str, contract: Contract, values: dict[str, Any], how: str) -> ContractError:
    known = " and ".join(f"{name} is {values[name]!r}" for name in contract.names if name in values)
    own = f": {contract.message}" if contract.message else ""
    where = f" where {known}" if known else ""
    return ContractError(f"{kernel}: the contract {contract.text} {how}{where}{own}\n  --> {contract.file}:{contract.line}")
