"""Alias metadata: tells LLVM which memory accesses of a module cannot meet.

Does: give each root array (`roots.py`) a scope and each access the text of its `!alias.scope` and `!noalias`.
Does not: decide what is disjoint, and claims nothing about two iterations of one loop.
Invariants: an access is declared apart from a root only if the root is not in its array's set.
"""

from __future__ import annotations

from collections.abc import Iterable

from lend.ir.typed import Value
from lend.lower.builder import ModuleBuilder
from lend.lower.roots import Roots

LANES = -1
"""The number of the root that the lanes of reductions are, beside those of `roots.py`."""


class Aliases:
    """The scopes of one module."""

    def __init__(self, module: ModuleBuilder, roots: Roots) -> None:
        self._module = module
        self._roots = roots
        self._numbers: list[int] = [LANES, *sorted(set[int]().union(*roots.values()))]
        self._scopes: dict[int, str] = {}
        self._suffixes: dict[frozenset[int], str] = {}
        if len(self._numbers) > 1:
            domain = module.metadata("distinct !{!self}")
            self._scopes = {number: module.metadata(f"distinct !{{!self, {domain}}}") for number in self._numbers}
        everything = self._list(self._numbers)
        self.nothing = f", !noalias {everything}" if everything else ""
        """The suffix of a call that touches no array."""

    def suffix(self, array: Value) -> str:
        """What to append to a load or store through `array`."""
        return self._of(self._roots.get(array, frozenset()))

    def private(self, locals: Iterable[Value]) -> frozenset[int]:
        """The roots that local arrays are."""
        return frozenset[int]().union(*(self._roots[local] for local in locals))

    def apart(self, array: Value, roots: frozenset[int]) -> bool:
        """Whether an array is known to lie in none of `roots`."""
        mine = self._roots.get(array, frozenset())
        return bool(mine) and mine.isdisjoint(roots)

    def within(self, array: Value, roots: frozenset[int]) -> bool:
        """Whether an array is known to lie in some of `roots`."""
        mine = self._roots.get(array, frozenset())
        return bool(mine) and mine <= roots

    def _of(self, roots: frozenset[int]) -> str:
        if not self._scopes or not roots:
            return ""
        if roots not in self._suffixes:
            inside = self._list([number for number in self._numbers if number in roots])
            outside = self._list([number for number in self._numbers if number not in roots])
            self._suffixes[roots] = f", !alias.scope {inside}" + (f", !noalias {outside}" if outside else "")
        return self._suffixes[roots]

    def meet(self, first: Value, second: Value) -> bool:
        """Whether two arrays can lie in one root."""
        return not self._roots.get(first, frozenset()).isdisjoint(self._roots.get(second, frozenset()))

    @property
    def lanes(self) -> str:
        """What to append to a load or store of a reduction's lanes, which no array reaches."""
        return self._of(frozenset((LANES,)))

    def _list(self, numbers: list[int]) -> str:
        """A metadata list of scopes, empty text for none."""
        if not self._scopes or not numbers:
            return ""
        return self._module.metadata("!{" + ", ".join(self._scopes[number] for number in numbers) + "}")
