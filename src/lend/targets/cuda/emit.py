"""A device's module -> PTX, and PTX -> machine code.

Does: say how LLVM is to write PTX for a processor; run NVIDIA's assembler.  Does not: load or launch.
Invariants: what the driver is given is PTX, which it assembles for the card at hand; `assemble` serves those who want to look.
"""

from __future__ import annotations

import re

from lend.targets import emission
from lend.targets.cuda import toolkit
from lend.targets.cuda.loads import sunk
from lend.targets.emission import Order
from lend.targets.resources import Resources
from lend.targets.tools import convert

TRIPLE = "nvptx64-nvidia-cuda"
_OPTIONS = ("-enable-misched",)
"""LLVM orders the instructions of a block so that few registers are in use, which it leaves to `ptxas` otherwise."""

_INFO = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_SPILLED = re.compile(r"(\d+) bytes spill stores")


def order(text: str, processor: str) -> Order:
    """How LLVM writes a module for `sm_…`."""
    linked = (toolkit.libdevice(),) if "@__nv_" in text else ()
    return Order(TRIPLE, processor, level=3, linked=linked)


def last(processor: str) -> Order:
    """How LLVM writes a module that is optimised already: loops are unrolled by now, and what is alike in their rounds goes."""
    return Order(TRIPLE, processor, level=3, passes="plain", options=_OPTIONS)


def ptx(text: str, processor: str) -> str:
    """The module in PTX."""
    return emission.emit(sunk(optimised(text, processor)), last(processor), "assembly").decode()


def optimised(text: str, processor: str) -> str:
    """The LLVM IR that PTX is written from."""
    return emission.emit(text, order(text, processor), "llvm").decode()


def assemble(code: str, processor: str) -> tuple[bytes, tuple[Resources, ...]]:
    """Machine code of a processor, and what each kernel takes."""
    command = [toolkit.ptxas(), "-O3", f"-arch={processor}", "-v", "{in}", "-o", "{out}"]
    binary, said = convert(command, code.encode(), ".ptx")
    return binary, resources(said)


def resources(said: str) -> tuple[Resources, ...]:
    """What `ptxas -v` says of each kernel."""
    parts = _INFO.split(said)
    found: list[Resources] = []
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        registers, shared, spilled = (pattern.search(part) for pattern in (_USED, _SHARED, _SPILLED))
        amounts = [int(match[1]) if match else 0 for match in (registers, spilled, shared)]
        found.append(Resources(name, *amounts))
    return tuple(sorted(found, key=lambda each: each.kernel))
