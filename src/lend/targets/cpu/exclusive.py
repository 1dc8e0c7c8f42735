"""One compilation at a time, and none while the process forks.

Does: hold the lock.  Does not: load LLVM.
Invariants: a child of `fork` finds neither this lock held nor any that was added to it. The compiler's modules are imported
under it, since a module that another thread was importing at a fork can never be imported in the child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

Result = TypeVar("Result")

COMPILING = threading.RLock()
"""Makes a compilation whole, from the front end to machine code: llvmlite locks each of its calls, but not a sequence of them."""

_inner: list[Callable[[], AbstractContextManager[object]]] = []
_held: list[ExitStack] = []


def compile_exclusively(make: Callable[[], Result]) -> Result:
    """Call `make` while no other thread compiles and no fork can happen."""
    with COMPILING:
        return make()


def hold_across_forks(lock: Callable[[], AbstractContextManager[object]]) -> None:
    """Take `lock()` as well before a fork."""
    _inner.append(lock)


def _before_fork() -> None:
    COMPILING.acquire()
    stack = ExitStack()
    for lock in _inner:
        stack.enter_context(lock())
    _held.append(stack)


def _after_fork() -> None:
    _held.pop().close()
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
