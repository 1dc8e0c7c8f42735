"""Who hears of each kernel that a program makes: nobody, but for `lend check`, which goes on where a kernel is refused.

Does: hold the listener of this process, to whom `@lend.kernel` hands the making of a kernel.  Does not: know what listeners do.
Invariants: without a listener, `@lend.kernel` is what it is; a listener is set before a program starts, by whoever runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Listener = Callable[[Callable[..., Any], Callable[[], Any]], Any]
"""Called with a function and what makes a kernel of it, or raises CompileError; the result takes the kernel's place."""

_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """From now on all kernels are made by `listener`; by nobody but themselves if it is None."""
    global _listener
    _listener = listener


def current() -> Listener | None:
    """Who makes the kernels now."""
    return _listener
