"""LLVM IR -> a device's code, in a process of its own.

Does: start `emitter.py`, send it modules, give back what it makes; say in lend's words which operation could not be written.
Does not: know targets beyond what an `Order` says, or keep what was made.
Invariants: an abort of LLVM ends a child of the helper, never this process; one order is under way at a time; a child of `fork`
starts a helper of its own. The helper ends with this process, since it reads from a pipe that closes then.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from lend.diagnostics.errors import DeviceError, InternalError
from lend.diagnostics.records import dataclass

_BOOT = "import json, runpy, sys; sys.path[:] = json.loads(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"


@dataclass(frozen=True)
class Order:
    """How a module is to be written. `linked`: files of bitcode that are linked into it first."""

    triple: str
    cpu: str = ""
    features: str = ""
    level: int = 2
    passes: str = "full"
    options: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What decides the code of a given text, beside LLVM's version."""
        return repr((self.triple, self.cpu, self.features, self.level, self.passes, self.options, self.linked))


class _Helper:
    """The running helper."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("emitter.py")
        arguments = [sys.executable, "-c", _BOOT, json.dumps([path for path in sys.path if path]), str(program)]
        try:
            self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            why = error.strerror or error
            raise DeviceError(f"code for devices is written by a process of its own, which does not start: {why}") from None

    def ask(self, request: dict[str, Any], text: bytes) -> tuple[bytes, dict[str, Any]]:
        """Its answer. Raises OSError if it has gone."""
        to, of = self._process.stdin, self._process.stdout
        assert to is not None and of is not None
        to.write(json.dumps({**request, "bytes": len(text)}).encode() + b"\n" + text)
        to.flush()
        line = of.readline()
        if not line:
            raise OSError("no answer")
        answer = json.loads(line)
        return of.read(answer["bytes"]), answer


_turn = threading.Lock()
_helper: _Helper | None = None


def _forget() -> None:
    """A child of a fork has its parent's pipes, which are not for it."""
    global _helper, _turn
    _helper, _turn = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def emit(text: str, order: Order, form: str = "object") -> bytes:
    """The module `text` as the order says: its "object", "assembly", or "llvm" after optimisation.

    Raises InternalError for an operation that the target has no code for: lend has let through what it should not have.
    """
    request: dict[str, Any] = {name: getattr(order, name) for name in order.__dataclass_fields__} | {"form": form}
    code, answer = _ask(request, text.encode())
    if answer["status"] != 0:
        raise InternalError(f"{order.triple} has no code for {culprit(answer['said'], text)}")
    return code


def _ask(request: dict[str, Any], text: bytes) -> tuple[bytes, dict[str, Any]]:
    global _helper
    with _turn:
        for attempt in range(2):
            if _helper is None:
                _helper = _Helper()
            try:
                return _helper.ask(request, text)
            except (OSError, ValueError):  # somebody has ended it
                _helper = None
                if attempt:
                    raise DeviceError("the process that writes code for devices has ended twice while it was needed") from None
    raise AssertionError


_INTRINSIC = re.compile(r"@?(llvm\.[\w.]+)|intrinsic %(llvm\.[\w.]+)")
_GENERIC = re.compile(r"= (G_\w+)")
_NODE = re.compile(r"Cannot select: \S+ = (?:\w+::)?(\w+)")
_PLACE = re.compile(r"in function: ([\w.]+)")


def culprit(said: str, text: str) -> str:
    """The operation that LLVM stumbled over, and where, from its last words."""
    found = next((match[1] or match[2] for match in _INTRINSIC.finditer(said)), None)
    if found is None:
        for pattern in (_GENERIC, _NODE):
            match = pattern.search(said)
            if match is not None:
                found = match[1].removeprefix("G_").lower()
                break
    place = _PLACE.search(said)
    where = f" in {place[1]}" if place is not None and f"@{place[1]}" in text else ""
    if found is None:
        first = next((line.strip() for line in said.splitlines() if line.strip()), "no reason was given")
        return f"an operation{where} ({first.removeprefix('LLVM ERROR: ')})"
    return f"the operation `{found}`{where}"
