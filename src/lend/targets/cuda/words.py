"""What CUDA's error numbers mean, in words.

Does: say it.  Does not: raise.
"""

from __future__ import annotations

from lend.targets.stream_words import in_words


def what_happened(code: int) -> str:
    """A driver's error in words, with its number."""
    return in_words("CUDA", code)
