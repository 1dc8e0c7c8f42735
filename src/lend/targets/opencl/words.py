"""What OpenCL's error numbers mean, in words.

Does: say it.  Does not: raise.
"""

from __future__ import annotations

MEANINGS = {
    -2: "it is not available at the moment",
    -3: "its compiler is missing",
    -4: "it has no memory left",
    -5: "it has run out of resources",
    -6: "the host has no memory left",
    -11: "its compiler could not build the code",
    -36: "its queue is no longer valid",
    -42: "it does not take the code's format",
    -43: "it does not take the compiler's options",
    -45: "the code is not valid for it",
    -50: "an argument is not what it expects",
    -51: "an argument has a size that it does not expect",
    -52: "the arguments are too many for it",
    -54: "the block of threads is too large for it",
    -55: "an extent of the block of threads is too large for it",
    -63: "the launch is too large for it",
}


def what_happened(code: int) -> str:
    """A driver's error in words, with its number."""
    meaning = MEANINGS.get(code)
    return f"OpenCL error {code}" if meaning is None else f"{meaning} (OpenCL error {code})"
