"""Pointers in the text of a device's module -> pointers of the target's address spaces.

Does: give every `ptr` the number of the space that reaches any memory, and each array on the stack a cast into it.
Does not: touch pointers that have a number already. The words that a launch hands over (`%env`) are in a space of their own.
Invariants: works on text that `lower/` has written, in which `ptr` is no part of any other word.

Example: with spaces (4, 1, 3, 0), `load float, ptr %p.3` becomes `load float, ptr addrspace(4) %p.3`.
"""

from __future__ import annotations

import re

from lend.lower.device.abi import Spaces
from lend.lower.device.environment import OWN
from lend.lower.environment import ENVIRONMENT

_WORDS = rf" (?:byval|byref)\(| {ENVIRONMENT}[,) ]| %{re.escape(OWN)}"
_POINTER = re.compile(rf"(?<![%@\w.$])ptr(?![\w.$]| addrspace|{_WORDS})")
_POINTER_TO_WORDS = re.compile(rf"(?<![%@\w.$])ptr(?={_WORDS})")
_STACK = re.compile(r"^  (%[\w.$]+) = alloca (.+?)((?:, align \d+)?)$", re.MULTILINE)
_OVERLOADED = re.compile(r"(@llvm\.\w+)\.p0\.")


def with_spaces(text: str, spaces: Spaces) -> str:
    """The module, for a target."""

    def stack(match: re.Match[str]) -> str:
        name, type, align = match[1], match[2], match[3]
        own = "" if spaces.thread == 0 else f", addrspace({spaces.thread})"
        cast = f"addrspacecast ptr addrspace({spaces.thread}) {name}.own to ptr addrspace({spaces.any})"
        return f"  {name}.own = alloca {type}{align}{own}\n  {name} = {cast}"

    if spaces.any != spaces.thread:
        text = _STACK.sub(stack, text)
    if spaces.any:
        text = _POINTER.sub(f"ptr addrspace({spaces.any})", text)
        text = _OVERLOADED.sub(rf"\1.p{spaces.any}.", text)
    if spaces.words:
        text = _POINTER_TO_WORDS.sub(f"ptr addrspace({spaces.words})", text)
    return text
