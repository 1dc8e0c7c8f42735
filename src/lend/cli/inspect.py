"""`lend inspect FILE:KERNEL --target cuda:sm_90 --emit asm`: the code of a kernel for a target.

Does: import the file, compile its kernels for the types the file calls them with (else for those of their signatures), print.
Does not: launch anything, or need the device.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from lend.cli.file_kernels import kernels_of
from lend.diagnostics.errors import LendError
from lend.driver.inspected import DeviceLowered, inspect
from lend.driver.kernel import Kernel

FORMS = ("asm", "llvm", "ir", "typed", "plan", "resources")


def main(place: str, target: str, form: str) -> int:
    """Print the code. 1 if a kernel is refused, 2 if there is none."""
    path, name = (place, "") if place.endswith(".py") else place.rpartition(":")[::2]
    made = kernels_of(Path(path), "lend inspect")
    if made is None:
        return 2
    found = [kernel for kernel in made if name in ("", kernel.__name__)]
    if not found:
        names = ", ".join(kernel.__name__ for kernel in made) or "none"
        print(f"lend inspect: {path} has no kernel `{name}`; its kernels: {names}", file=sys.stderr)
        return 2
    return show(found, target, form)


def show(kernels: Sequence[Kernel[..., object]], target: str, form: str) -> int:
    """Print each specialisation of each kernel."""
    for kernel in kernels:
        compilations = list(kernel.compilations())
        if not compilations:
            print(f"{kernel.__name__}: its types are known at a call only, and the file makes none", file=sys.stderr)
        for compilation in compilations:
            try:
                lowered = inspect(compilation, target)
                text = table(lowered) if form == "resources" else str(getattr(lowered, form))
            except LendError as error:
                print(f"lend inspect: {kernel.__name__}: {error}", file=sys.stderr)
                return 1
            print(f"# {kernel.__name__} for {target}: {form}\n{text.rstrip()}\n")
    return 0


def table(lowered: object) -> str:
    """What each kernel takes."""
    resources = lowered.resources if isinstance(lowered, DeviceLowered) else ()
    if not resources:
        return "only the driver knows what kernels take of this target"
    lines = [f"{'kernel':<12} registers  spilled bytes  shared bytes  scalar registers"]
    for each in resources:
        lines.append(f"{each.kernel:<12} {each.registers:>9}  {each.spilled:>13}  {each.shared:>12}  {each.scalar_registers:>16}")
    return "\n".join(lines)
