"""The block of words through which a host function hands values to a device region.

Does: share values of the host function with a region: constants by their text, everything else through a word in memory.
Does not: launch.
Invariants: the region reads every word once, at its start, so nothing it writes can change what it was handed.

Example: `shared = Environment(host, region).scalar(I64, "%n.3")` gives the region's own operand for the host's `%n.3`.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.ir.typed import Value
from lend.language.abi import scalar_words
from lend.language.types import I64, ScalarType
from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import is_constant, offset
from lend.lower.values import ArrayValue, Lowered, carries_strides, describe
from lend.lower.writer import FunctionWriter

ENVIRONMENT = "%env"
WORD = 8


class Environment:
    """What one region is handed; `fill` writes it in the host function."""

    def __init__(self, host: FunctionWriter, region: FunctionWriter) -> None:
        self._host = host
        self._region = region
        self._words = 0
        self._stores: list[Callable[[str], None]] = []
        self._shared: dict[str, str] = {}

    def value(self, value: Value) -> Lowered:
        """The region's own of a host value."""
        lowered = self._host.get(value)
        if isinstance(lowered, ArrayValue):
            return self._array(lowered)
        if value.scalar.is_integer and value.scalar.bits == 64:
            return self.word(lowered)
        return self.scalar(value.scalar, lowered)

    def scalar(self, type: ScalarType, operand: str) -> str:
        """The region's own operand of the host's `operand`."""
        if is_constant(operand):
            return operand
        place, word = self._place(scalar_words(type))
        self._stores.append(lambda env: self._host.scalars.store(type, operand, at(self._host.builder, env, word), WORD))
        return self._region.scalars.load(type, place, WORD)

    def pointer(self, operand: str) -> str:
        """The region's own of an address."""
        if operand in self._shared:
            return self._shared[operand]
        place, word = self._place(1)
        self._stores.append(
            lambda env: self._host.builder.append(f"store ptr {operand}, ptr {at(self._host.builder, env, word)}, align {WORD}")
        )
        self._shared[operand] = self._region.builder.emit(f"load ptr, ptr {place}, align {WORD}", "p")
        return self._shared[operand]

    def word(self, operand: str) -> str:
        """The region's own of an i64, shared by all that hand over the same one.

        Sums and products are made again in the region, so that LLVM sees there how `N - 1` and `N` hang together.
        """
        if operand not in self._shared:
            if operand in self._host.facts.sums:
                operator, left, right = self._host.facts.sums[operand]
                parts = operator, self.word(left), self.word(right)
                self._shared[operand] = self._region.builder.emit(f"{operator} i64 {parts[1]}, {parts[2]}")
                self._region.facts.result(operator, self._shared[operand], *parts[1:])
            else:
                self._shared[operand] = self.scalar(I64, operand)
        return self._shared[operand]

    @property
    def words(self) -> int:
        """The length of the block, once the region is written."""
        return max(self._words, 1)

    def fill(self, env: str | None = None) -> str:
        """Write the block in the host function's open block, at `env` or in memory reserved for it; gives its address."""
        if env is None:
            env = self._host.builder.alloca(f"[{self.words} x i64]", "env", 16)
        for store in self._stores:
            store(env)
        return env

    def _array(self, array: ArrayValue) -> ArrayValue:
        sizes = tuple(self.word(size) for size in array.sizes)
        strides = tuple(self.word(stride) for stride in array.strides) if carries_strides(array.type) else ()
        return describe(self._region.builder, array.type, self.pointer(array.pointer), sizes, strides)

    def _place(self, words: int) -> tuple[str, int]:
        word = self._words
        self._words += words
        return at(self._region.builder, ENVIRONMENT, word), word


def at(builder: FunctionBuilder, block: str, word: int) -> str:
    """The address of a word of a block."""
    return offset(builder, block, str(WORD * word))
