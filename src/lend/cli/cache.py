"""`lend cache`: compiled kernels on disk.

Does: show where they are and how much room they take; remove them.  Does not: look into them.
"""

from __future__ import annotations

import time

from lend.diagnostics.errors import LendError
from lend.diagnostics.words import counted
from lend.runtime.settings import Settings, snapshot
from lend.runtime.store import Store

MEGABYTE = 1 << 20


def main(clear: bool) -> int:
    """Show the folder, or clear it. 2 if a setting is wrong."""
    try:
        settings = snapshot()
    except LendError as error:
        print(f"lend cache: {error}")
        return 2
    store = Store(str(settings.cache_dir), settings.cache_limit * MEGABYTE)
    if clear:
        size = sum(entry.size for entry in store.entries())
        count = store.clear()
        print(f"removed {counted(count, 'file')} ({megabytes(size)}) from {store.folder}")
        return 0
    print("\n".join(described(store, settings)))
    return 0


def described(store: Store, settings: Settings) -> list[str]:
    """The folder, in words."""
    entries = store.entries()
    size = sum(entry.size for entry in entries)
    lines = [
        f"folder  {store.folder}",
        f"files   {len(entries)}",
        f"size    {megabytes(size)} of at most {settings.cache_limit} MB",
    ]
    if entries:
        lines.append(f"used    {day(entries[0].used)} to {day(entries[-1].used)}")
    if not settings.cache:
        lines.append("LEND_CACHE=0: nothing is kept, and nothing of it used")
    return lines


def megabytes(size: int) -> str:
    """`0.3 MB`."""
    return f"{size / MEGABYTE:.1f} MB"


def day(seconds: float) -> str:
    """A moment, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
