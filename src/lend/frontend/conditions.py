"""Contracts as predicates: Python text over a call's sizes, scalars and compile-time values.

Does: evaluate.  Does not: write the text (`contracts.py` does, from a kernel's tree) or raise for what is false.
Invariants: evaluated by Python, in unbounded integers; captured values are as they are at that moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lend.frontend.capture import Captured
from lend.language.dims import DimType, SizeExpression, evaluate, size_text
from lend.language.signature import Signature


class Condition:
    """Whether a contract holds: called with the values of a call by name. `text`: the condition as Python that we wrote."""

    def __init__(self, text: str, captured: Captured, signature: Signature) -> None:
        self.text = text
        self._code = compile(text, "<contract>", "eval")
        self._captured = captured
        self._dims = {size_text(dim): dim for dim in signature.dims}

    def __call__(self, bindings: dict[str, Any]) -> bool:
        names = _Names(bindings, self._captured, {dim: bindings[text] for text, dim in self._dims.items()})
        try:
            return bool(eval(self._code, {"__builtins__": {}}, names))
        except ArithmeticError:  # a division by zero size: the condition cannot hold
            return False


class _Names(Mapping[str, Any]):
    """The names of a contract: the call's values, sizes by name, then captured values as they are now."""

    def __init__(self, bindings: dict[str, Any], captured: Captured, dims: dict[DimType, int]) -> None:
        self._bindings = bindings
        self._captured = captured
        self._dims = dims

    def __getitem__(self, name: str) -> Any:
        if name in self._bindings:
            return self._bindings[name]
        found, value = self._captured.resolve(name)
        if not found:
            raise KeyError(name)
        if isinstance(value, DimType | SizeExpression):
            return evaluate(value, self._dims)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._bindings)

    def __len__(self) -> int:
        return len(self._bindings)
