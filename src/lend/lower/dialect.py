"""What LLVM's scalar instructions are called, and how far they can be trusted, on a target.

Does: hold it as one frozen value per target, which a module's builder carries.  Does not: emit instructions (`arithmetic.py` and
`math.py` do, and ask), or say how kernels are called (`device/abi.py`).
Invariants: what a program computes does not depend on these choices, but for the last bits of functions of the mathematical
library.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.diagnostics.records import dataclass


@dataclass(frozen=True)
class Dialect:
    """One target's scalar code.

    symbol: the library's name of a primitive, for `float` or `double` and so many arguments. convention: how its functions are
    called. marked: whether calls of them may become calls of a vector library's. orders_nan: whether `llvm.minimum` and
    `llvm.maximum` propagate NaN and know -0 from 0. has_remainder: whether `frem` is exact. rounds_division: whether f32 division
    and square root are rounded correctly. keeps_order: whether sums in loops are computed in the order in which they are written.
    """

    name: str
    symbol: Callable[[str, str, int], str]
    convention: str = ""
    marked: bool = False
    orders_nan: bool = True
    has_remainder: bool = True
    rounds_division: bool = True
    keeps_order: bool = True


def c_symbol(function: str, type: str, arity: int) -> str:
    """The name in C's library."""
    return function if type == "double" else f"{function}f"


HOST = Dialect("host", c_symbol, marked=True)
"""The processor that runs the compiler, with C's mathematical library."""
