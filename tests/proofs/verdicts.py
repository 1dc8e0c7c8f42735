"""What kernels are judged to be: proved, accepted with a condition or a check, or refused with a witness.

Does: compare the verdicts of one kernel with those that a test asks for.  Does not: run kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import lend


def others(kernel: Any, *arguments: Any) -> list[str]:
    """The obligations of a kernel that are not proved, each as `race launch y`."""
    proofs = kernel.proofs(*arguments)
    return [f"{p.obligation} {p.verdict} {p.subject.split()[0]}" for p in proofs if p.verdict != "proved"]


def assert_proved(kernel: Any, *arguments: Any) -> None:
    """Every obligation of the kernel is proved; it has some."""
    assert kernel.proofs(*arguments), "nothing to prove"
    assert others(kernel, *arguments) == []


def assert_accepted(kernel: Any, expected: set[str], *arguments: Any) -> None:
    """The kernel is accepted, and exactly these obligations rest on something: `{"bounds checked x", "race launch y"}`."""
    assert set(others(kernel, *arguments)) == expected


@contextmanager
def refused(code: str, *words: str) -> Iterator[pytest.ExceptionInfo[lend.CompileError]]:
    """The kernel defined inside is refused with the code, and all the words stand in the message."""
    with pytest.raises(lend.CompileError) as caught:
        yield caught
    said = str(caught.value)
    assert code in said, said
    for word in words:
        assert word in said, said
