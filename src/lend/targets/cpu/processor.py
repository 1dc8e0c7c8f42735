"""The processor we run on, as far as that can be said without LLVM.

Does: name the architecture, and everything of the processor that decides which code is made for it.
Does not: name features in LLVM's words (`machine.py`).
"""

from __future__ import annotations

import os
import platform
from functools import cache

_DECISIVE = frozenset(
    (
        *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
        *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features", "isa", "uarch"),
    )
)


@cache
def architecture() -> str:
    """`x86_64`, `aarch64`, …"""
    name = os.uname().machine if hasattr(os, "uname") else platform.machine()
    return {"amd64": "x86_64", "AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)


@cache
def description() -> str:
    """The processor's name, for people."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or architecture()


@cache
def identity() -> str:
    """What tells this processor from others that need, or allow, other code."""
    found: list[str] = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if not line.strip() and found:
                    break  # the others are alike
                if name.strip() in _DECISIVE:
                    found.append(f"{name.strip()}={value.strip()}")
    except OSError:
        pass
    if not any(text.startswith(("flags=", "Features=")) for text in found):
        from lend.targets.cpu.machine import host  # slower

        found.append(host().key)
    return f"{architecture()} {' '.join(found)}"
