"""Machine code of IR that lend has by hand, and not from a kernel: the thread pool, the allocator, entry points.

Does: compile it, quickly if it has no long loops, or take what was compiled of the same text before, if somebody keeps that.
Does not: keep it.
Invariants: the text alone decides the code, beside what is the same for a whole process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from lend.targets.cpu import loader

if TYPE_CHECKING:
    from lend.targets.cpu.emit import CompiledModule

    Code = loader.Loaded | CompiledModule
    """Machine code, loaded: `address`, `data_address`, `object_code`."""


class Keeper(Protocol):
    """Who keeps object code from one process to the next."""

    def find(self, text: str) -> bytes | None:
        """The object code of a text, if it was kept."""

    def keep(self, text: str, object_code: bytes) -> None:
        """Keep it."""


_keeper: Keeper | None = None


def keep_with(keeper: Keeper | None) -> None:
    """From now on `keeper` is asked for code, and given it."""
    global _keeper
    _keeper = keeper


def assemble(text: str, symbols: Mapping[str, int] | None = None, optimised: bool = False, level: int | None = None) -> Code:
    """The machine code of `text`; `symbols` are addresses of functions that are not in any loaded library.

    `optimised`: it has loops that are worth it; `level`: the code generator's, if not the usual one. One text is always assembled
    in the same way.
    """
    known = None if _keeper is None else _keeper.find(text)
    loaded = None if known is None else loader.load(known, dict(symbols or {}))
    if loaded is not None:
        return loaded
    from lend.targets.cpu.emit import compile_module

    made = compile_module(text, quick=not optimised, symbols=symbols, level=level)
    if _keeper is not None:
        _keeper.keep(text, made.object_code())
    return made
