"""Launch conditions as operations of the typed tree.

Does: turn sets of launch constants into comparisons of the values that are visible at a point.  Does not: decide which are
needed.
Invariants: a condition is never weaker than the sets it is made from: what cannot be evaluated at the point counts as failing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lend.checks.decide import Decision
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Operation, Value
from lend.language.types import BOOL_, I64
from lend.model.linear import Formula, names_of, negate
from lend.model.records import Model
from lend.model.sets import Expression, OverBudget, expression_of, only_over, same_parameters, within


class ConditionWriter:
    """Writes conditions into a list of operations."""

    def __init__(self, model: Model, visible: Sequence[Value], span: Span, operations: list[Operation]) -> None:
        self.model = model
        self.span = span
        self.operations = operations
        seen = set(visible)
        self.values = {name: value for name, value in model.space.names.launch.items() if value is not None and value in seen}

    def condition(self, decisions: Sequence[Decision], assumptions: Sequence[Formula]) -> Value:
        """A bool: none of the decisions' bad sets holds, and all assumptions do. False where that is too large to be said."""
        try:
            return self._condition(decisions, assumptions)
        except OverBudget:
            return self.constant(False, BOOL_)

    def _condition(self, decisions: Sequence[Decision], assumptions: Sequence[Formula]) -> Value:
        good: Any = None
        for decision in decisions:
            if decision.kind != "when":
                continue
            one = self.visible(decision.bad).complement()
            good = one if good is None else good.intersect(one)
            context = self.visible(decision.context)
            good = good.gist(context) if same_parameters(context, decision.context) else good
        for assumption in assumptions:
            # A u64 too large for an i64 is negative here: it has to fail, though its definition says that there is no such value.
            if {*names_of(assumption)} <= self.model.evaluator.scalars:
                one = self.visible(self.model.space.set([], [assumption], "may").params().complement()).complement()
            else:
                one = self.visible(self.model.space.set([], [negate(assumption)], "may").params()).complement()
            good = one if good is None else good.intersect(one)
        if good is None:
            return self.constant(True, BOOL_)
        expression = expression_of(within(good, -(1 << 63), (1 << 63) - 1))
        return self.bool_of(expression) if numbers_fit(expression) else self.constant(False, BOOL_)

    def visible(self, found: Any) -> Any:
        """The set over launch constants that are visible here: as large as it may be."""
        return only_over(found, self.values)

    # ---------------------------------------------------------------------------------------------------------- expressions

    def constant(self, value: int | bool, type: Any) -> Value:
        """A literal."""
        result = Value(type, self.span)
        self.operations.append(typed.Constant(self.span, result, value))
        return result

    def bool_of(self, expression: Expression) -> Value:
        """A condition."""
        operator, *operands = expression
        if operator == "int":
            return self.constant(operands[0] != 0, BOOL_)
        logical = operator in ("and", "or")
        values = [self.bool_of(o) if logical else self.integer_of(o) for o in operands]
        result = values[0]
        for other in values[1:]:
            result = self.binary(operator, result, other, BOOL_)
        return result

    def integer_of(self, expression: Expression) -> Value:
        """An integer expression."""
        operator, *operands = expression
        if operator == "int":
            return self.constant(operands[0], I64)
        if operator == "name":
            return self.as_i64(self.values[operands[0]])
        if operator == "minus":
            return self.binary("sub", self.constant(0, I64), self.integer_of(operands[0]), I64)
        result = self.integer_of(operands[0])
        for other in operands[1:]:
            result = self.binary(operator, result, self.integer_of(other), I64)
        return result

    def as_i64(self, value: Value) -> Value:
        """An integer value as i64; larger u64 values become negative, which no condition on moderate values admits."""
        if value.type is I64:
            return value
        result = Value(I64, self.span)
        self.operations.append(typed.Cast(self.span, result, value))
        return result

    def binary(self, operator: Any, left: Value, right: Value, type: Any) -> Value:
        """A binary operation."""
        result = Value(type, self.span)
        self.operations.append(typed.Binary(self.span, result, operator, left, right))
        return result


def numbers_fit(expression: Expression) -> bool:
    """Whether all numbers of a condition are i64s."""
    operator, *operands = expression
    if operator == "name":
        return True
    return -(1 << 63) <= operands[0] < 1 << 63 if operator == "int" else all(map(numbers_fit, operands))
