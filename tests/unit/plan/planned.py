"""Regions of kernels written as text, planned for a machine with vectors of 64 bytes."""

from __future__ import annotations

from typing import Any

from lend.driver.pipeline import run
from lend.ir.typed import Load, Operation, Region, Store
from lend.plan.regions import DeviceRegion, Plan, plan
from lend.plan.variation import Variation


def planned(kernel: Any, vector_bytes: int = 64) -> Plan:
    """The plan of a kernel of known types."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    return plan(compilation.scheduled, vector_bytes)


def region_of(kernel: Any, vector_bytes: int = 64) -> DeviceRegion:
    """Its first parallel loop."""
    return planned(kernel, vector_bytes).regions[0]


def operations_of(region: Region) -> list[Operation]:
    """All operations, inner ones too, in the order of the text."""
    found: list[Operation] = []
    for operation in region.operations:
        found.append(operation)
        for inner in operation.regions:
            found += operations_of(inner)
    return found


def subscripts(kernel: Any, array: str) -> list[tuple[Variation, ...]]:
    """How the subscripts of each access of an array vary."""
    region = region_of(kernel)
    accesses = [o for o in operations_of(region.parallel.body) if isinstance(o, Load | Store) and o.array.name == array]
    return [tuple(region.variations.of(index) for index in access.indices) for access in accesses]


def stored(kernel: Any) -> Variation:
    """How the value varies that the last store of the body stores."""
    region = region_of(kernel)
    stores = [o for o in operations_of(region.parallel.body) if isinstance(o, Store)]
    return region.variations.of(stores[-1].value)
