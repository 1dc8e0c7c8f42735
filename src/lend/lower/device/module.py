"""Plan -> two LLVM modules: the host function for the processor, and the kernels of its regions for a device.

Does: give both texts.  Does not: optimise or verify them (`targets/`).
Invariants: kernel number k of the table `KERNELS` in the host's module is `region_k` of the device's; those for packs
follow.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.lower.aliases import Aliases
from lend.lower.builder import ModuleBuilder
from lend.lower.device import faults
from lend.lower.device.abi import DeviceAbi, Shape
from lend.lower.device.host import DeviceHostWriter
from lend.lower.device.spaces import with_spaces
from lend.lower.regions import region_name
from lend.lower.roots import find_roots
from lend.lower.shapes import find_shapes
from lend.plan.regions import Plan


@dataclass(frozen=True)
class DeviceCode:
    """The two passes of one kernel, as texts; the names of the kernels, in the order of their numbers, and the threads that each
    one's blocks have (None: any number)."""

    host: str
    device: str
    kernels: tuple[str, ...]
    shapes: tuple[Shape | None, ...]


def lower_for_device(plan: Plan, abi: DeviceAbi) -> DeviceCode:
    """The two modules of `plan`; triples and data layouts are left to whoever compiles them."""
    module = ModuleBuilder()
    aliases = Aliases(module, find_roots(plan.kernel))
    writer = DeviceHostWriter(module, plan, aliases, find_shapes(plan.kernel), abi)
    writer.device.declare("lend_fault", faults.definition())
    writer.write()
    title = f"; {plan.kernel.name}\n\n"
    kernels = (*(region_name(region) for region in plan.regions), *writer.packed)
    shapes = tuple(writer.block_shapes.get(name) for name in kernels)
    return DeviceCode(title + module.text(), title + with_spaces(writer.device.text(), abi.spaces), kernels, shapes)
