"""The caches of the processor we run on.

Does: say how large the private and the last cache are.  Does not: say who shares them.
Invariants: sizes are in bytes and positive; where the system says nothing, they are those of a common processor.
"""

from __future__ import annotations

from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

LEVELS = 4
"""Levels that are told apart; 0 is not used."""

DEFAULTS = (0, 32 << 10, 1 << 20, 32 << 20)


def cache_bytes(caches: Path = _CACHES) -> tuple[int, ...]:
    """Bytes of the data caches by level, 0 to 3. A level that is missing is as large as the one below it."""
    found: dict[int, int] = {}
    for cache in sorted(caches.glob("index*")):
        try:
            kind, level, size = ((cache / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and level.isdigit() and size[:-1].isdigit() and size[-1] in _UNITS:
            found[int(level)] = int(size[:-1]) * _UNITS[size[-1]]
    if not found:
        return DEFAULTS
    sizes = [0]
    for level in range(1, LEVELS):
        sizes.append(found.get(level, sizes[-1] or DEFAULTS[level]))
    return tuple(sizes)
