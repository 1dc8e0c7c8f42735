"""lend: one kernel in typed Python, compiled with Rust's borrow rules, for the CPU (GPUs follow).

The public names, nothing else. See the README for a first kernel and `docs/language.md` for the language.
"""

from typing import TYPE_CHECKING

from lend import dims
from lend.diagnostics.errors import (
    ArgumentError,
    ArithmeticFault,
    BorrowError,
    BoundsError,
    CompileError,
    ContractError,
    DeviceError,
    DeviceMemoryError,
    InternalError,
    LendError,
    ShapeError,
)
from lend.language.borrows import (
    Index,
    Mut,
    Offsets,
    Out,
    Ref,
    T,
    U,
    Unique,
    bf16,
    bool_,
    complex64,
    complex128,
    comptime,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from lend.language.dims import Dim
from lend.language.intrinsics import as_unique, cdiv, empty, function, grid, local, static_range, unchecked, zeros
from lend.language.structs import struct
from lend.runtime.settings import config

if TYPE_CHECKING:
    from lend.driver.kernel import Kernel, kernel
    from lend.driver.lowered import Lowered
else:

    def __getattr__(name):
        """`kernel` and its kin bring the compiler's front end and the runtime with them: loaded at first use."""
        if name not in ("Kernel", "Lowered", "kernel"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "Lowered":
            from lend.driver.lowered import Lowered as found
        else:
            from lend.driver import kernel as module

            found = getattr(module, name)
        globals()[name] = found
        return found

    def __dir__():
        return __all__


__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArithmeticFault",
    "BorrowError",
    "BoundsError",
    "CompileError",
    "ContractError",
    "DeviceError",
    "DeviceMemoryError",
    "Dim",
    "Index",
    "InternalError",
    "Kernel",
    "LendError",
    "Lowered",
    "Mut",
    "Offsets",
    "Out",
    "Ref",
    "ShapeError",
    "T",
    "U",
    "Unique",
    "__version__",
    "as_unique",
    "bf16",
    "bool_",
    "cdiv",
    "complex64",
    "complex128",
    "comptime",
    "config",
    "dims",
    "empty",
    "f16",
    "f32",
    "f64",
    "function",
    "grid",
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "local",
    "static_range",
    "struct",
    "u8",
    "u16",
    "u32",
    "u64",
    "unchecked",
    "zeros",
]
