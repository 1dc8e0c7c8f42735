"""How far subscripts reach, as operations of the typed tree: see `checks/reach.py`.

Does: write the integer expressions and comparisons of conditions.  Does not: decide which are needed.
Invariants: a condition on what is not visible at the point is false; each expression is written once.
"""

from __future__ import annotations

from collections.abc import Sequence

from lend.checks.reach import Node, Reach
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import BOOL_, I64
from lend.schedule.conditions import ConditionWriter


class ReachWriter:
    """Appends to the operations of a condition writer; `visible` are the values that may be used."""

    def __init__(self, writer: ConditionWriter, visible: Sequence[Value]) -> None:
        self.writer = writer
        self.visible = set(visible)
        self.written: dict[Node, Value] = {}

    def all_of(self, condition: Value, reaches: Sequence[Reach]) -> Value:
        """A bool: the condition holds, and so does each reach."""
        for left, right in dict.fromkeys(pair for reach in reaches for pair in reach.conditions):
            if not (self.seen(left) and self.seen(right)):
                return self.writer.constant(False, BOOL_)
            inside = self.writer.binary("ge", self.integer(left), self.integer(right), BOOL_)
            condition = self.writer.binary("and", condition, inside, BOOL_)
        return condition

    def seen(self, node: Node) -> bool:
        """Whether all that an expression is made from is visible."""
        return (node.value is None or node.value in self.visible) and all(map(self.seen, node.operands))

    def integer(self, node: Node) -> Value:
        """An expression's value, an i64."""
        found = self.written.get(node)
        if found is None:
            found = self.written[node] = self._integer(node)
        return found

    def _integer(self, node: Node) -> Value:
        if node.operator == "number":
            return self.writer.constant(node.low, I64)
        if node.operator == "value":
            assert node.value is not None
            return self.writer.as_i64(node.value)
        if node.operator == "size":
            assert node.value is not None
            result = Value(I64, self.writer.span)
            self.writer.operations.append(typed.Size(self.writer.span, result, node.value, node.dimension))
            return result
        left, right = (self.integer(operand) for operand in node.operands)
        return self.writer.binary(node.operator, left, right, I64)
