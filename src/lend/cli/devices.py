"""`lend devices`: what kernels can run on here.

Does: print `lend.devices()`.  Does not: find them (`driver/devices.py`).
"""

from __future__ import annotations

from lend.driver.devices import devices


def main() -> int:
    """Print the list; the exit status is 0."""
    print(devices())
    return 0
