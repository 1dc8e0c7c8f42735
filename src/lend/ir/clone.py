"""Copies of regions with fresh values.

Does: copy operations, so that one region can stand in a tree twice.  Does not: change what they do.
Invariants: values defined inside the copy are new; values from outside stay, or are replaced as `mapping` says.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from lend.ir.typed import Operation, Region, Value


def clone_region(region: Region, mapping: dict[Value, Value]) -> Region:
    """A copy of a region. `mapping` is extended by the values that the copy defines."""
    parameters = tuple(fresh(value, mapping) for value in region.parameters)
    operations = tuple(clone(operation, mapping) for operation in region.operations)
    return Region(parameters, operations, tuple(mapping.get(value, value) for value in region.yields))


def clone(operation: Operation, mapping: dict[Value, Value]) -> Operation:
    """A copy of an operation; its results are new values."""
    for value in operation.results:
        fresh(value, mapping)
    changes = {field.name: _mapped(getattr(operation, field.name), mapping) for field in fields(operation)}
    return replace(operation, **changes)


def fresh(value: Value, mapping: dict[Value, Value]) -> Value:
    """A new value of the same type and name, noted in `mapping`."""
    mapping[value] = Value(value.type, value.span, value.name)
    return mapping[value]


def _mapped(part: Any, mapping: dict[Value, Value]) -> Any:
    if isinstance(part, Value):
        return mapping.get(part, part)
    if isinstance(part, Region):
        return clone_region(part, mapping)
    if isinstance(part, tuple):
        return tuple(_mapped(item, mapping) for item in part)  # pyright: ignore[reportUnknownVariableType]
    if is_dataclass(part) and type(part).__name__ in ("Extent", "Reduction"):
        return replace(part, **{f.name: _mapped(getattr(part, f.name), mapping) for f in fields(part)})  # type: ignore[type-var]
    return part
