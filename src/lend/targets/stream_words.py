"""What the error numbers of CUDA mean, which HIP has taken over, in words.

Does: say it.  Does not: raise.
"""

from __future__ import annotations

MEANINGS = {
    1: "an argument is not what it expects",
    2: "it has no memory left",
    3: "its driver is not ready",
    4: "its driver is shutting down",
    100: "the driver finds no device",
    101: "there is no device of that number",
    200: "it does not take the code's format",
    201: "its context is no longer valid",
    209: "it has no code for this processor",
    218: "its compiler could not build the code",
    222: "the code is newer than its driver",
    500: "there is no such kernel in the code",
    700: "a kernel has touched memory that is not there",
    701: "the launch asks for more registers or memory than it has",
    702: "a kernel took longer than it allows",
    719: "a kernel has failed, and the device has to be opened anew",
    999: "its driver reports an unknown error",
}


def in_words(driver: str, code: int) -> str:
    """A driver's error in words, with its number."""
    meaning = MEANINGS.get(code)
    return f"{driver} error {code}" if meaning is None else f"{meaning} ({driver} error {code})"
