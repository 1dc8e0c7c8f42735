"""What to write instead: one fix for each refusal, from the pattern of the access.

Does: recognise the patterns that users write, and word their fixes.  Does not: decide anything; a fix is advice.
"""

from __future__ import annotations

import re

from lend.checks.places import Loop, Places, subscripts, target
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ATOMIC_ELEMENTS, Borrow
from lend.model.linear import Linear
from lend.model.records import Access, Dimension

ATOMIC_UPDATES = ("+=", "-=", "&=", "|=", "^=")
"""Updates of an element that are atomic where the array is lent as `Atomic`."""

# ------------------------------------------------------------------------------------------------------------------ bounds


def bounds_fix(places: Places, access: Access, dimension: Dimension, index: int) -> str:
    """How an access stays inside, when `index` does not."""
    below = index < 0
    if isinstance(access.operation, typed.View):
        return "shorten the slice, or the loop around it"
    written = subscripts(access.operation.span)
    subscript = written[dimension.number] if written is not None and dimension.number < len(written) else None
    size = places.linear(dimension.size)
    guard = _guard(subscript, "0" if below else size, below)
    around = places.around(access.scope)
    if not any(set(loop.index.names()) & set(dimension.index.names()) for loop in around) and not below:
        last = places.linear(dimension.size.plus(-1))
        return f"the last index is {_code(last)}" if last is not None else guard
    for loop in around:
        shift = _farthest(dimension.index.sub(loop.index), around, below)
        if shift is not None:
            moved = _other_end(places, loop, dimension, shift, below)
            exact = dimension.index.sub(loop.index).value is not None
            tested = _guard(loop.name, str(-shift), below) if below and exact else guard
            return f"{moved}, or {tested}" if moved is not None else tested
    return guard


def _farthest(shift: Linear, around: list[Loop], below: bool) -> int | None:
    """How far an index lies beyond a loop's own, at most: a number, or a number and the index of a loop with a known end."""
    if shift.value is not None:
        return shift.value
    for loop in around:
        rest, last = shift.sub(loop.index).value, loop.upper.value
        if rest is not None and last is not None and loop.direction > 0 and not below:
            return rest + last - 1
    return None


def _code(text: str) -> str:
    return text if text.lstrip("-").isdigit() else f"`{text}`"


def _guard(subscript: str | None, limit: str | None, below: bool) -> str:
    """A condition under which a subscript stays below its size, or at least 0."""
    if subscript is None or limit is None:
        return "guard the access with a condition"
    return f"guard the access with `if {subscript} {f'>= {limit}' if below else f'< {limit}'}:`"


def _other_end(places: Places, loop: Loop, dimension: Dimension, shift: int, below: bool) -> str | None:
    """Where a loop must begin or end so that its index plus `shift` stays inside."""
    if loop.direction == 0:
        return None
    if below:
        return f"begin `{loop.name}` at {-shift}" if loop.direction > 0 else f"let `{loop.name}` stop before {-shift - 1}"
    if loop.direction > 0:
        end = places.linear(dimension.size.plus(-shift))
        return f"let `{loop.name}` stop before {_code(end)}" if end is not None else None
    start = places.linear(dimension.size.plus(-shift - 1))
    return f"begin `{loop.name}` at {_code(start)}" if start is not None else None


# ------------------------------------------------------------------------------------------------------------------- races


def race_fix(places: Places, first: Access, second: Access) -> str:
    """The nearest way out of a race; `first` writes."""
    name = places.array(first.root)
    unused = _unused(places, first)
    assert first.region is not None
    everyone = len(unused) == len(places.model.regions[first.region].indices)
    same_place = target(first.operation.span) == target(second.operation.span)
    scatter = _scatter_fix(places, first) or _scatter_fix(places, second)
    if scatter is not None:
        return scatter
    if same_place and everyone:
        element, update = target(first.operation.span).text, _update(first)
        if update:
            return f"collect it in a variable: `s {update} ...` is a reduction; then store `s` in `{element}` after the loop"
        return (
            "let one iteration write it, or collect it in a variable with `+=`, `|=`, `min` or `max`, which are reductions, and "
            f"store that in `{element}` after the loop"
        )
    if same_place and unused:
        names = " and ".join(f"`{n}`" for n in unused)
        return f"use {names} in the subscript of `{name}`, or run {names} in a sequential `for ... in range(...)` inside"
    flat = _flat_fix(places, first) if same_place else None
    if flat is not None:
        return flat
    if same_place:
        return (
            f"let each iteration write elements of its own: loop over the elements of `{name}`, and run what "
            "shares one in a sequential `for ... in range(...)`"
        )
    if second.writes:
        return f"write to a second array instead of `{name}`, or loop so that each element belongs to one iteration"
    return f"write to a second array instead of `{name}`, or use a sequential `for ... in range(...)`"


def _flat_fix(places: Places, access: Access) -> str | None:
    """`x[i * n + j]` with a product that no proof follows: two subscripts say that rows do not meet."""
    written = subscripts(access.operation.span)
    if access.element is None or written is None or len(written) != 1 or "[" in written[0]:
        return None
    if "*" not in written[0] or "+" not in written[0]:
        return None
    if places.unknown(access.element[0]) is None or access.region is None:
        return None
    indices = [parameter.name or "i" for parameter in places.model.regions[access.region].operation.body.parameters]
    name = places.array(access.root)
    if len(indices) < 2 or access.root.array.borrow is Borrow.ATOMIC:
        return None
    element = f"rows[{', '.join(indices[:2])}]"
    return f"give each index a subscript: borrow rows before the loop, `rows = {name}.reshape(n, m)`, and write `{element}`"


def _unused(places: Places, access: Access) -> list[str]:
    """The indices of the parallel loop that an access's element does not depend on."""
    assert access.region is not None
    region = places.model.regions[access.region]
    names = {n for e in access.element or () for n in e.names()}
    used = set(places.model.space.closure(names)) | {n for n in names if n in places.model.space.names.opaque}
    if access.element is None or used & places.model.space.names.opaque:
        return []
    parameters = zip(region.scope.threads, region.operation.body.parameters, strict=False)
    return [parameter.name or "i" for thread, parameter in parameters if thread not in used]


def _scatter_fix(places: Places, access: Access) -> str | None:
    """A write whose subscript was loaded: distinct indices can be lent as such."""
    if not access.writes or access.element is None:
        return None
    for dimension, expression in enumerate(access.element):
        value = places.unknown(expression)
        load = places.load_of(value) if value is not None else None
        if value is None or load is None:
            continue
        name, index = places.array(access.root), places.array(load.root)
        size = places.linear(places.model.shapes[access.root][dimension]) if access.root in places.model.shapes else None
        atomic = atomic_fix(places, access)
        plain = expression == places.model.evaluator.numbers[value] and value.scalar.bits >= 32
        if plain and _is_parameter(places, load.root) and size is not None:
            storage = "" if value.scalar.bits == 64 else f", {value.scalar}"
            unique = f"Ref[lend.Unique[{size}{storage}], {', '.join(_sizes(places, load.root))}]"
            several = f"give each part of the loop a row of `{name}` of its own and add the rows up"
            otherwise = several if _update(access) else f"loop over the elements of `{name}` and gather"
            return f"if no index occurs twice, say so: `{index}: {unique}`; else {atomic or otherwise}"
        return atomic or f"loop over the elements of `{name}` and gather what belongs to each"
    return None


def atomic_fix(places: Places, access: Access) -> str | None:
    """How several threads update one element: `h[i] += 1` of an atomic array; None for what is no such update."""
    root, operator = access.root, _update(access)
    element, name = root.array.element, places.array(root)
    if operator not in ATOMIC_UPDATES or element not in ATOMIC_ELEMENTS or root in places.model.private:
        return None
    if root in places.model.shared:
        return f"make it atomic, `{name} = lend.shared(Atomic[{element}], ...)`, so that `{operator}` is one operation"
    borrow = f"Atomic[{element}, {', '.join(_sizes(places, root)) or '...'}]"
    parameter = next((p for p in places.model.kernel.parameters if p.value is root), None)
    if parameter is None:
        return f"make this loop a kernel of its own that borrows `{name}` as `{borrow}`, and call it here"
    if parameter.vector is not None:
        return None
    return f"borrow it as `{name}: {borrow}`, so that `{operator}` is one operation"


def _update(access: Access) -> str | None:
    """The operator of `y[i] += e`; None for `y[i] = e`."""
    span, element = access.operation.span, target(access.operation.span)
    following = span.source.line(element.end_line)[element.end_column :]
    found = re.match(r"\s*((?:\*\*|//|>>|<<|[-+*/%&|^])=)", following)
    return found[1] if found is not None else None


def _is_parameter(places: Places, root: Value) -> bool:
    return any(p.value is root for p in places.model.kernel.parameters)


def _sizes(places: Places, root: Value) -> list[str]:
    return [places.linear(size) or "..." for size in places.model.shapes.get(root, ())]


# ---------------------------------------------------------------------------------------------------------- initialisation


def as_mut(places: Places, root: Value) -> str:
    """The annotation that lends an array as it is."""
    vector = next((p.vector for p in places.model.kernel.parameters if p.value is root), None)
    element, sizes = (root.array.element, _sizes(places, root)) if vector is None else (vector, _sizes(places, root)[:-1])
    return f"{places.array(root)}: Mut[{element}, {', '.join(sizes)}]"


def read_fix(places: Places, root: Value) -> str:
    """How a read finds a value."""
    if _is_parameter(places, root) and root.array.borrow is Borrow.OUT:
        return f"write it first, or borrow it as `{as_mut(places, root)}`"
    if root in places.model.private:
        return "write all of it first, in a loop before this one"
    if places.model.aliases.only_of(root, places.model.shared):
        return "let the threads write all of it first, with `lend.sync()` between, or read only what they have written"
    return "write all of it first, or begin with `lend.zeros` instead of `lend.empty`"


def divisor_index(places: Places, divisor: Linear, loops: list[Loop]) -> Loop | None:
    """The loop whose index is the divisor itself."""
    return next((loop for loop in loops if loop.index == divisor and loop.direction > 0), None)
