"""Sizes that are computed: `N1 = N + 1`, `2 * N`, and size names that only such expressions mention.

Does: solve for size names that no dimension gives directly, and compare each computed size with its dimension.
Does not: bind plain size names (`borrows.py`).
Invariants: a name is solved for only where the answer is unique (`+`, `-`, `*`); a size is never negative.

Example: an array of size 6 where `N + 1` is asked for gives N = 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from lend.diagnostics.errors import ShapeError
from lend.language.abi import MAX_SIZE
from lend.language.dims import DimType, Size, SizeExpression, evaluate, size_text, symbols
from lend.runtime.borrows import Lent


def resolve_sizes(kernel: str, dims: tuple[DimType, ...], sizes: list[int], lent: list[Lent]) -> None:
    """Fill in what `sizes` lacks (-1) and check all computed dimensions. Raises ShapeError."""
    known = {dim: size for dim, size in zip(dims, sizes, strict=True) if size >= 0}
    waiting = [(entry, dimension, size) for entry in lent for dimension, size in entry.parameter.computed]
    progress = True
    while waiting and progress:
        progress = False
        for item in tuple(waiting):
            entry, dimension, size = item
            missing = [dim for dim in symbols(size) if dim not in known]
            if not missing:
                _compare(kernel, entry, dimension, size, known, lent)
            elif len(missing) == 1:
                solution = _solve(size, entry.array.shape[dimension], known)
                if solution is None:
                    continue
                _check_solution(kernel, entry, dimension, size, missing[0], solution, known)
                known[missing[0]] = solution
            else:
                continue
            waiting.remove(item)
            progress = True
    for slot, dim in enumerate(dims):
        if dim not in known:
            raise _unknown(kernel, dim, waiting)
        sizes[slot] = known[dim]


def too_large(kernel: str, dims: tuple[DimType, ...], sizes: list[int]) -> ShapeError:
    """The error for a size beyond what subscript arithmetic is proved for (only arrays without elements can have one)."""
    dim, size = next((dim, size) for dim, size in zip(dims, sizes, strict=True) if size > MAX_SIZE)
    return ShapeError(f"{kernel}: {dim.__name__} is {size}, and no dimension may exceed {MAX_SIZE}")


def _compare(kernel: str, entry: Lent, dimension: int, size: Size, known: Mapping[DimType, int], lent: list[Lent]) -> None:
    there = entry.array.shape[dimension]
    if there > MAX_SIZE:
        raise ShapeError(f"{kernel}: {_definition(size)} is {there}, and no dimension may exceed {MAX_SIZE}")
    try:
        wanted = evaluate(size, known)
    except ZeroDivisionError:
        raise ShapeError(f"{kernel}: {_definition(size)} divides by zero where {_where(size, known)}") from None
    if wanted != there:
        raise ShapeError(
            f"{kernel}: {_definition(size)} is {wanted} where {_where(size, known, lent)}, but {there} in {entry.parameter.name} "
            f"(dimension {dimension})"
        )


def _check_solution(
    kernel: str, entry: Lent, dimension: int, size: Size, dim: DimType, solution: int, known: Mapping[DimType, int]
) -> None:
    there = entry.array.shape[dimension]
    if there > MAX_SIZE:
        raise ShapeError(f"{kernel}: {_definition(size)} is {there}, and no dimension may exceed {MAX_SIZE}")
    if solution >= 0 and evaluate(size, {**known, dim: solution}) == there:
        return
    others = _where(size, known)
    raise ShapeError(
        f"{kernel}: {_definition(size)} is {there} in {entry.parameter.name} (dimension {dimension}), "
        f"and no size {dim.__name__} gives that" + (f" where {others}" if others else "")
    )


def _solve(size: Size, value: int, known: Mapping[DimType, int]) -> int | None:
    """The one value of the missing name that could make `size` equal `value`; None if there may be several. To be checked."""
    if isinstance(size, DimType):
        return value if (inner := size.equals) is None else _solve(inner, value, known)
    if not isinstance(size, SizeExpression):
        return None
    in_left = any(dim not in known for dim in symbols(size.left))
    inner, outer = (size.left, size.right) if in_left else (size.right, size.left)
    if any(dim not in known for dim in symbols(outer)):
        return None  # on both sides
    other = evaluate(outer, known)
    match size.operator:
        case "+":
            return _solve(inner, value - other, known)
        case "-":
            return _solve(inner, value + other if in_left else other - value, known)
        case "*" if other != 0:
            return _solve(inner, value // other, known)
        case _:
            return None


def _unknown(kernel: str, dim: DimType, waiting: list[tuple[Lent, int, Size]]) -> ShapeError:
    for entry, dimension, size in waiting:
        if dim in set(symbols(size)):
            return ShapeError(
                f"{kernel}: the size {dim.__name__} does not follow from {_definition(size)} being "
                f"{entry.array.shape[dimension]} in {entry.parameter.name} (dimension {dimension}): "
                f"lend an array that has {dim.__name__} as a size"
            )
    return ShapeError(f"{kernel}: the size {dim.__name__} is not known, because no argument of this call has it")


def _definition(size: Size) -> str:
    if isinstance(size, DimType) and (inner := size.equals) is not None:
        return f"{size.__name__} = {size_text(inner)}"
    return size_text(size)


def _where(size: Size, known: Mapping[DimType, int], lent: list[Lent] | None = None) -> str:
    names = dict.fromkeys(dim for dim in symbols(size) if dim in known)
    return " and ".join(f"{dim.__name__} is {known[dim]}{_source(dim, lent or [])}" for dim in names)


def _source(dim: DimType, lent: list[Lent]) -> str:
    """Which argument gives a size, in words."""
    for entry in lent:
        for dimension, size in enumerate(entry.parameter.kind.sizes):
            if size is dim:
                return f" (dimension {dimension} of {entry.parameter.name})"
    return ""
