"""How a target's kernels are written: address spaces, calling conventions, where a thread finds its place.

Does: hold it as one frozen value per target.  Does not: say what scalar instructions are called (`lower/dialect.py`).
Invariants: everything under `lower/device/` writes `ptr` for a pointer into any memory, and the private memory of a thread, the
block's and the device's become such pointers by a cast; `spaces.py` puts in the numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.diagnostics.records import dataclass
from lend.lower.builder import FunctionBuilder
from lend.lower.dialect import Dialect

Shape = tuple[int, int, int]
"""How many threads a block has along each dimension of a launch."""


@dataclass(frozen=True)
class Spaces:
    """The numbers of LLVM's address spaces: any memory, the device's, the block's, a thread's own, and where a launch's words
    are."""

    any: int
    device: int
    block: int
    thread: int
    words: int = 0


@dataclass(frozen=True)
class SubgroupAbi:
    """A device's own exchange between neighbouring threads of a block, for sub-groups of up to `most`.

    move: an i32 of another lane, given this thread's, the lane's number in the sub-group, this thread's number in the block (both
    i64), and the size. sync: the threads of a sub-group wait for each other, and see what each wrote; given this thread's number
    in the block, and the size.
    """

    most: int
    move: Callable[[FunctionBuilder, str, str, str, int], str]
    sync: Callable[[FunctionBuilder, str, int], None]


@dataclass(frozen=True)
class DeviceAbi:
    """One kind of device.

    kernel: the calling convention of kernels. position: an i64, this thread's place in the whole launch along a dimension (0 to
    2), given how many threads a block has along it (0 if that is not known). block: the same of its block. lane: its place in its
    block, along dimension 0. barrier: where the threads of a block wait for each other, and after which they see what each wrote
    to any memory. shapes: the threads of a block in launches of 1, 2 and 3 dimensions; none if the driver chooses.
    passed: how the block of words is passed. split: the dimensions along which a launch may have more blocks than the driver
    takes at once. A kernel whose launches have more than the first of them has a parameter `%start.k` for each, an i64 after the
    words: the place where this part of the launch begins. attributes: what a kernel's definition says of the shape of its blocks,
    which its launches must have. most_shared: bytes that the threads of a block can share; 0 if only the driver knows.
    parts: what `position` is the sum of, a part that the threads of a wave share and a thread's own, which is "0" or less than
    1024; for targets whose accesses add these up.
    """

    dialect: Dialect
    spaces: Spaces
    kernel: str
    position: Callable[[FunctionBuilder, int, int], str]
    block: Callable[[FunctionBuilder, int], str]
    lane: Callable[[FunctionBuilder], str]
    barrier: Callable[[FunctionBuilder], None]
    passed: str = "byval"
    split: tuple[int, ...] = ()
    shapes: tuple[Shape, ...] = ()
    attributes: Callable[[Shape], str] = lambda shape: ""
    most_shared: int = 0
    subgroups: SubgroupAbi | None = None
    parts: Callable[[FunctionBuilder, int, int], tuple[str, str]] | None = None

    def shape(self, dimensions: int) -> Shape | None:
        """The threads of a block of a kernel that is launched over so many dimensions; None if any will do."""
        return self.shapes[dimensions - 1] if self.shapes else None
