"""A device's module -> a code object for one of AMD's processors.

Does: say how LLVM is to write it, link it, read what it takes.  Does not: load or launch.
Invariants: OCML asks for constants that say how exact it has to be: denormal numbers, infinities and NaN are kept, square roots
are rounded correctly, whatever `math` says.
"""

from __future__ import annotations

from lend.targets import emission
from lend.targets.emission import Order
from lend.targets.hip import toolkit
from lend.targets.hip.notes import metadata
from lend.targets.hip.own import per_block
from lend.targets.resources import Resources
from lend.targets.tools import convert

_WAVE_64 = ("gfx9",)
"""Processors whose waves have 64 threads; others have 32."""

_OPTIONS = ("-amdgpu-scalar-ir-passes=false", "-misched-prera-direction=bottomup")
"""Addresses keep the parts that they were written in: what is the same for a wave, then the thread's own. (LLVM would begin with
what several addresses share, which is the sum of both, and takes a register of 64 bits in each thread.) Instructions are ordered
from the end of a block on, which holds fewer values at a time than from both ends."""


def constants(processor: str) -> str:
    """What OCML asks for."""
    digits = processor.removeprefix("gfx")
    version = 1000 * int(digits[:-2]) + 100 * int(digits[-2], 16) + int(digits[-1], 16)
    bytes = {
        "__oclc_unsafe_math_opt": 0,
        "__oclc_finite_only_opt": 0,
        "__oclc_daz_opt": 0,
        "__oclc_correctly_rounded_sqrt32": 1,
        "__oclc_wavefrontsize64": int(processor.startswith(_WAVE_64)),
    }
    lines = [f"@{name} = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 {n}" for name, n in bytes.items()]
    for name, n in (("__oclc_ISA_version", version), ("__oclc_ABI_version", 500)):
        lines.append(f"@{name} = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 {n}")
    return "\n".join(lines)


def complete(text: str, processor: str) -> str:
    """The module with what its library and loader ask for."""
    flags = '!llvm.module.flags = !{!900000}\n!900000 = !{i32 1, !"amdhsa_code_object_version", i32 500}'
    return f"{text}\n{constants(processor) if '@__ocml_' in text else ''}\n{flags}\n"


def order(text: str, processor: str) -> Order:
    """How LLVM writes a module for `gfx…`."""
    linked = (toolkit.ocml(),) if "@__ocml_" in text else ()
    return Order("amdgcn-amd-amdhsa", processor, level=3, linked=linked)


def last(processor: str) -> Order:
    """How LLVM writes a module that is optimised already."""
    return Order("amdgcn-amd-amdhsa", processor, level=3, passes="none", options=_OPTIONS)


def assembly(text: str, processor: str) -> str:
    """The module as assembly, with the figures of each kernel at its end."""
    return emission.emit(per_block(optimised(text, processor)), last(processor), "assembly").decode()


def optimised(text: str, processor: str) -> str:
    """The LLVM IR that code is written from."""
    return emission.emit(complete(text, processor), order(text, processor), "llvm").decode()


def code_object(text: str, processor: str) -> bytes:
    """What the driver loads."""
    unlinked = emission.emit(per_block(optimised(text, processor)), last(processor))
    return convert([*toolkit.linker(), "-shared", "{in}", "-o", "{out}"], unlinked, ".o")[0]


def resources(content: bytes) -> tuple[Resources, ...]:
    """What a code object says of each kernel."""
    found: list[Resources] = []
    for kernel in metadata(content)["amdhsa.kernels"]:
        spilled = 4 * (kernel[".vgpr_spill_count"] + kernel[".sgpr_spill_count"])
        shared, scalars = kernel[".group_segment_fixed_size"], kernel[".sgpr_count"]
        found.append(Resources(kernel[".name"], kernel[".vgpr_count"], spilled, shared, scalars))
    return tuple(sorted(found, key=lambda each: each.kernel))
