"""The exceptions users see, all under `LendError`; and `InternalError`, which is ours.

Does: define the classes.  Does not: word the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.proofs import Proof, Proofs
from lend.diagnostics.spans import Span


class LendError(Exception):
    """Every error that lend raises for something the user can mend."""


class CompileError(LendError, TypeError):
    """A kernel that lend refuses to compile.

    Attributes: diagnostics (every reason found); proofs (the verdicts of a kernel that was refused for one of them; else empty).
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], proofs: Iterable[Proof] = ()) -> None:
        from lend.diagnostics.render import render_text, wants_colour  # what only errors need

        self.diagnostics = tuple(diagnostics)
        self.proofs = proofs if isinstance(proofs, Proofs) else Proofs(proofs)
        super().__init__(render_text(self.diagnostics, colour=wants_colour()))

    def __reduce__(self) -> tuple[type[CompileError], tuple[tuple[Diagnostic, ...], Proofs]]:
        return CompileError, (self.diagnostics, self.proofs)


class ArgumentError(LendError, TypeError):
    """An argument of the wrong kind: dtype, count, name, byte order or device."""


class ShapeError(LendError, ValueError):
    """Two sizes that must agree do not, or an array has another number of dimensions."""


class ContractError(LendError, ValueError):
    """A contract (`assert` at the top of a kernel) is false for these arguments."""


class BorrowError(LendError, ValueError):
    """Arguments overlap, or an array lent for writing cannot be written."""


class BoundsError(LendError, IndexError):
    """A subscript outside its dimension.

    Attributes: kernel (name), file, line, thread (the iteration's indices, None at host level), array (name),
    dimension, index, size.
    """

    kernel: str
    file: str
    line: int
    thread: tuple[int, ...] | None
    array: str
    dimension: int
    index: int
    size: int


class ArithmeticFault(LendError, ZeroDivisionError):
    """An integer division by zero, a negative shift or exponent, or a zero step.

    Attributes: kernel (name), file, line, thread (None at host level).
    """

    kernel: str
    file: str
    line: int
    thread: tuple[int, ...] | None


class DeviceError(LendError, RuntimeError):
    """A device that is missing or cannot take the launch."""


class DeviceMemoryError(LendError, MemoryError):
    """A device or the host has no memory left for an array."""


for _class in (
    LendError,
    CompileError,
    ArgumentError,
    ShapeError,
    ContractError,
    BorrowError,
    BoundsError,
    ArithmeticFault,
    DeviceError,
    DeviceMemoryError,
):
    _class.__module__ = "lend"  # where users find them, and what Python prints before the message


class InternalError(RuntimeError):
    """A bug in lend, with the place in the user's source that was in hand."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        place = f" (while compiling {span.place})" if span is not None else ""
        super().__init__(f"this is a bug in lend: {message}{place}")
        self.span = span
