"""lend: one kernel in typed Python, compiled with Rust's borrow rules, for CPUs and devices.

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
from lend.language import intrinsics as _intrinsics
from lend.language.borrows import (
    Atomic,
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
from lend.language.intrinsics import (
    as_unique,
    bitcast,
    blocks,
    cdiv,
    empty,
    function,
    grid,
    local,
    shared,
    static_range,
    subgroup,
    sync,
    threads,
    unchecked,
    zeros,
)
from lend.language.structs import struct
from lend.language.vectors import Vec
from lend.runtime.settings import config

if TYPE_CHECKING:
    from lend import algorithms
    from lend.driver.devices import devices, memory
    from lend.driver.foreign import from_dlpack
    from lend.driver.kernel import Kernel, kernel
    from lend.driver.lending import asarray, set_device, to
    from lend.driver.lowered import Lowered
    from lend.driver.profiled import profile
    from lend.runtime.arrays import Array
    from lend.sanitizer.sanitize import sanitize
else:
    _WHERE = {
        "Array": "lend.runtime.arrays",
        "Kernel": "lend.driver.kernel",
        "Lowered": "lend.driver.lowered",
        "algorithms": "lend.algorithms",
        "asarray": "lend.driver.lending",
        "devices": "lend.driver.devices",
        "from_dlpack": "lend.driver.foreign",
        "kernel": "lend.driver.kernel",
        "memory": "lend.driver.devices",
        "profile": "lend.driver.profiled",
        "sanitize": "lend.sanitizer.sanitize",
        "set_device": "lend.driver.lending",
        "to": "lend.driver.lending",
    }

    def __getattr__(name):
        """`kernel` and its kin bring the compiler's front end and the runtime with them: loaded at first use."""
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(_WHERE[name])
        found = getattr(module, name, module)  # a module itself, if it has no such name
        globals()[name] = found
        return found

    def __dir__():
        return __all__

    def _made_outside(*what):
        """What `lend.empty` and `lend.zeros` give outside kernels: the language itself knows no arrays."""
        from lend.driver.lending import new

        return new(*what)

    _intrinsics.Outside.make = staticmethod(_made_outside)


__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArithmeticFault",
    "Array",
    "Atomic",
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
    "Vec",
    "__version__",
    "algorithms",
    "as_unique",
    "asarray",
    "bf16",
    "bitcast",
    "blocks",
    "bool_",
    "cdiv",
    "complex64",
    "complex128",
    "comptime",
    "config",
    "devices",
    "dims",
    "empty",
    "f16",
    "f32",
    "f64",
    "from_dlpack",
    "function",
    "grid",
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "local",
    "memory",
    "profile",
    "sanitize",
    "set_device",
    "shared",
    "static_range",
    "struct",
    "subgroup",
    "sync",
    "threads",
    "to",
    "u8",
    "u16",
    "u32",
    "u64",
    "unchecked",
    "zeros",
]
