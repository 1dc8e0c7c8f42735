"""Calls while somebody profiles.

Does: make a call as usual, and note its times.  Does not: print them (`runtime/profile.py`).
Invariants: while somebody profiles, no call goes past Python: compiled entry points are told that settings have changed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lend.driver.on_device import call_on, device, on_devices, refuse
from lend.runtime.profile import Profile
from lend.runtime.settings import HERE, config, snapshot

if TYPE_CHECKING:
    from lend.driver.kernel import Kernel


def profiled(kernel: Kernel[Any, Any], notes: Profile, args: tuple[Any, ...], kwargs: dict[str, Any], where: str | None) -> Any:
    """A call on a device, or where settings say if it is None."""
    args, kwargs, found = on_devices(args, kwargs)
    name = where or found or snapshot().device
    if where == "cpu":
        refuse(kernel.__name__, found)
    call = notes.begin(kernel.__name__, "cpu" if name in HERE else name)
    try:
        binding = kernel.bind(args, kwargs)
        began = time.perf_counter()
        new = kernel.prepare(binding, None if name in HERE else device(name))
        call.compile = time.perf_counter() - began if new else 0.0
        if name in HERE:
            began = time.perf_counter()
            result = kernel.call_here(binding)
            call.kernel_time = time.perf_counter() - began
            return result
        return call_on(kernel, name, binding)
    finally:
        notes.end(call)


def profile() -> Profile:
    """`lend.profile()`: note what the calls in a `with` block cost."""
    return Profile(config.touch)
