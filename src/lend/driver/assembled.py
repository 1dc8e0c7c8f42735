"""Machine code that other processes have made.

Does: load a kernel's object code; keep the code of lend's own texts (`targets/cpu/hand_written.py`) on disk.
Does not: load LLVM.
"""

from __future__ import annotations

from lend.diagnostics.errors import InternalError, LendError
from lend.driver import kept
from lend.driver.environment import environment
from lend.runtime.settings import snapshot
from lend.runtime.store import Store, digest
from lend.targets.cpu import hand_written, loader
from lend.targets.cpu.object_file import read_object, symbols_of
from lend.targets.cpu.own_functions import addresses


def load(object_code: bytes) -> loader.Loaded | None:
    """A kernel's code in memory; None if the kernel has to be compiled after all."""
    try:
        file = read_object(object_code)
    except InternalError:
        return None
    return loader.load_file(object_code, file, addresses(symbols_of(file).undefined))


class _Texts:
    """Keeps the code of texts."""

    def find(self, text: str) -> bytes | None:
        """The object code of a text."""
        found = _store()
        return None if found is None else found[0].find(_key(text, found[1]))

    def keep(self, text: str, object_code: bytes) -> None:
        """Keep it."""
        found = _store()
        if found is not None:
            found[0].save(_key(text, found[1]), object_code)


def _store() -> tuple[Store, bytes] | None:
    try:
        settings = snapshot()
        disk = kept.store(settings)
        return None if disk is None else (disk, environment(settings))
    except (LendError, OSError):  # a wrong setting is reported at a call
        return None


def _key(text: str, environment: bytes) -> bytes:
    return digest(environment + text.encode()) + b"t"


_TEXTS = _Texts()


def keep_texts() -> None:
    """Keep them from now on."""
    hand_written.keep_with(_TEXTS)
