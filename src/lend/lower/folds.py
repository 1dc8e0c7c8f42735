"""The lanes of a block -> LLVM vectors: set to the identity at once, and folded in halves.

Does: clear and fold lanes with whole vectors, which costs LLVM a fraction of what loops cost it.
Does not: fold values that are rounded after each operation, or products of complex numbers (`reductions.py` does, in loops).
Invariants: the order of combination and every operation are those of the loops; lanes are kept as in memory (bool_ as bytes).
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.ir.typed import BinaryOperator
from lend.language.reduction import LANES, identity
from lend.language.types import BF16, F16, F32, PART, ScalarType
from lend.lower.arithmetic import ScalarEmitter, memory_type
from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import offset

Group = tuple[BinaryOperator, list[ScalarType]]
"""A reduction: its operator and the types of its values."""

_OF_BOOLS = {"add": "or", "max": "or", "mul": "and", "min": "and"}


def foldable(groups: list[Group]) -> bool:
    """Whether whole vectors can be combined."""
    return all(
        (operator in ("min", "max") and all(type.kind != "complex" for type in types))
        or (types[0].kind == "complex" and operator == "add")
        or (types[0].kind != "complex" and types[0] not in (F16, BF16))
        for operator, types in groups
    )


@dataclass(frozen=True)
class LaneVectors:
    """The lanes of one reduction. `arrays`: the lanes of each of its values; `metadata` goes on their loads and stores."""

    scalars: ScalarEmitter
    group: Group
    arrays: list[str]
    metadata: str

    @property
    def builder(self) -> FunctionBuilder:
        """Where the code goes."""
        return self.scalars.builder

    def clear(self) -> None:
        """Every lane starts from the identity."""
        operator, types = self.group
        for array, type in zip(self.arrays, types, strict=True):
            element, per = _element(type)
            part = PART[type] if type.kind == "complex" else type
            value = self.scalars.constant(part, identity(operator, part))
            value = {"true": "1", "false": "0"}.get(value, value)
            whole = f"<{LANES * per} x {element}> splat ({element} {value})"
            self.builder.append(f"store {whole}, ptr {array}, align 64{self.metadata}")

    def fold(self) -> list[str]:
        """The result of all lanes."""
        _, types = self.group
        width = LANES // 2
        low, high = (
            [self._half(array, type, width, upper) for array, type in zip(self.arrays, types, strict=True)] for upper in (0, 1)
        )
        both = self._combine(width, low, high)
        while width > 1:
            width //= 2
            low, high = ([self._part(v, t, width, upper) for v, t in zip(both, types, strict=True)] for upper in (0, 1))
            both = self._combine(width, low, high)
        return [self._scalar(vector, type) for vector, type in zip(both, types, strict=True)]

    # ------------------------------------------------------------------------------------------- parts

    def _half(self, array: str, type: ScalarType, width: int, upper: int) -> str:
        element, per = _element(type)
        bytes = (F32 if type in (F16, BF16) else type).bytes
        place = offset(self.builder, array, str(upper * width * bytes))
        return self.builder.emit(f"load <{width * per} x {element}>, ptr {place}, align {min(bytes, 8)}{self.metadata}")

    def _part(self, vector: str, type: ScalarType, width: int, upper: int) -> str:
        element, per = _element(type)
        count = width * per
        whole = f"<{2 * count} x {element}>"
        places = ", ".join(f"i32 {upper * count + k}" for k in range(count))
        return self.builder.emit(f"shufflevector {whole} {vector}, {whole} poison, <{count} x i32> <{places}>")

    def _scalar(self, vector: str, type: ScalarType) -> str:
        element, per = _element(type)
        parts = [self.builder.emit(f"extractelement <{per} x {element}> {vector}, i32 {k}") for k in range(per)]
        if type.kind == "bool":
            return self.builder.emit(f"icmp ne i8 {parts[0]}, 0")
        return parts[0] if per == 1 else self.scalars.pair(type, parts[0], parts[1])

    # ------------------------------------------------------------------------------------------- operations

    def _combine(self, width: int, left: list[str], right: list[str]) -> list[str]:
        """`left op right`, lane by lane."""
        operator, types = self.group
        if len(types) == 1:
            return [self._elementwise(operator, types[0], width, left[0], right[0])]
        emit, flags = self.builder.emit, f"<{width} x i1>"
        take = "zeroinitializer"
        for type, a, b in reversed(list(zip(types, left, right, strict=True))):
            better, same = self._compare(operator, type, width, a, b)
            take = emit(f"or {flags} {better}, {emit(f'and {flags} {same}, {take}')}")
        chosen: list[str] = []
        for type, a, b in zip(types, left, right, strict=True):
            vector = f"<{width} x {_element(type)[0]}>"
            chosen.append(emit(f"select {flags} {take}, {vector} {b}, {vector} {a}"))
        return chosen

    def _elementwise(self, operator: str, type: ScalarType, width: int, left: str, right: str) -> str:
        element, per = _element(type)
        vector, kind = f"<{width * per} x {element}>", type.kind
        operator = _OF_BOOLS.get(operator, operator) if kind == "bool" else operator
        if operator in ("min", "max"):
            name = f"{operator}imum" if kind == "float" else f"{'s' if kind == 'int' else 'u'}{operator}"
            full = f"llvm.{name}.v{width}{ {'float': 'f32', 'double': 'f64'}.get(element, element) }"
            self.builder.module.declare(full, f"declare {vector} @{full}({vector}, {vector})")
            return self.builder.emit(f"call {vector} @{full}({vector} {left}, {vector} {right})")
        return self.builder.emit(f"{'f' if kind in ('float', 'complex') else ''}{operator} {vector} {left}, {right}")

    def _compare(self, operator: str, type: ScalarType, width: int, a: str, b: str) -> tuple[str, str]:
        """Whether `b` comes before `a`, and whether they are equal; a NaN comes before every number and equals a NaN."""
        emit, vector, flags = self.builder.emit, f"<{width} x {_element(type)[0]}>", f"<{width} x i1>"
        if type.kind != "float":
            sign = "s" if type.kind == "int" else "u"
            before = emit(f"icmp {sign}{'lt' if operator == 'min' else 'gt'} {vector} {b}, {a}")
            return before, emit(f"icmp eq {vector} {a}, {b}")
        number = emit(f"fcmp ord {vector} {a}, {a}")
        before = emit(f"fcmp {'ult' if operator == 'min' else 'ugt'} {vector} {b}, {a}")
        equal = emit(f"fcmp oeq {vector} {a}, {b}")
        a_nan, b_nan = emit(f"fcmp uno {vector} {a}, {a}"), emit(f"fcmp uno {vector} {b}, {b}")
        both = emit(f"and {flags} {a_nan}, {b_nan}")
        return emit(f"and {flags} {before}, {number}"), emit(f"or {flags} {equal}, {both}")


def _element(type: ScalarType) -> tuple[str, int]:
    """What a lane is in memory: its LLVM type, and how many of them."""
    if type.kind == "complex":
        return memory_type(PART[type]), 2
    return memory_type(F32 if type in (F16, BF16) else type), 1
