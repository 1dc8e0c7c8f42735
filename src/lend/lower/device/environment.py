"""What a launch on a device hands to a kernel: arrays as parameters of their own, everything else in a block of words by value.

Does: share values of the host function with a kernel, which it reads when it starts.  Does not: launch.
Invariants: a pointer of the host function is an address in the device's memory; each that is handed over is one parameter, so
that drivers know which memory a launch uses.
"""

from __future__ import annotations

from lend.lower.device.abi import DeviceAbi
from lend.lower.environment import ENVIRONMENT, WORD, Environment, at
from lend.lower.indexing import is_constant
from lend.lower.writer import FunctionWriter

OWN = f"{ENVIRONMENT[1:]}$"
"""How names of pointers into the block of words begin, and no others: no name of the user's has a `$`."""


class DeviceEnvironment(Environment):
    """What one kernel is handed."""

    def __init__(self, host: FunctionWriter, region: FunctionWriter, abi: DeviceAbi) -> None:
        super().__init__(host, region)
        self._abi = abi
        self.pointers: list[str] = []
        """The host function's operands, in the order of the parameters."""
        self.exclusive: set[str] = set()
        """Those of them whose memory no other parameter reaches."""

    def pointer(self, operand: str) -> str:
        """A parameter for an address; what is known to be none stays that."""
        if is_constant(operand):
            return operand
        if operand not in self._shared:
            name = f"%a{len(self.pointers)}"
            self.pointers.append(operand)
            space = self._abi.spaces.device
            self._shared[operand] = self._region.builder.emit(f"addrspacecast ptr addrspace({space}) {name} to ptr", "p")
        return self._shared[operand]

    def parameters(self) -> str:
        """The kernel's parameters."""
        space = f"ptr addrspace({self._abi.spaces.device})"
        arrays = [
            f"{space}{' noalias' if operand in self.exclusive else ''} %a{number}" for number, operand in enumerate(self.pointers)
        ]
        words = f"ptr {self._abi.passed}({{ [{self.words} x i64] }}) align {WORD} {ENVIRONMENT}"
        return ", ".join([*arrays, words])

    def pack(self) -> tuple[str, str]:
        """Write pointers and words in the host function's open block; gives where each are."""
        builder = self._host.builder
        pointers = builder.alloca(f"[{max(len(self.pointers), 1)} x ptr]", "pointers", 16)
        for number, operand in enumerate(self.pointers):
            builder.append(f"store ptr {operand}, ptr {at(builder, pointers, number)}, align {WORD}")
        return pointers, self.fill()

    def _place(self, words: int) -> tuple[str, int]:
        word = self._words
        self._words += words
        place = self._region.builder.emit(f"getelementptr i8, ptr {ENVIRONMENT}, i64 {WORD * word}", OWN)
        return place, word
