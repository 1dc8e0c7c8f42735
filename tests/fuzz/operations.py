"""Tables of what generated expressions choose from: functions, operators, literals, implicit conversions."""

from __future__ import annotations

import numpy as np

UNARY = tuple(
    """
    math.sqrt np.exp math.log math.sin np.cos math.tan np.arcsin math.acos math.atan np.sinh math.cosh math.tanh np.arcsinh
    math.acosh math.atanh np.cbrt np.exp2 math.expm1 math.log2 math.log10 math.log1p math.erf math.erfc math.gamma math.lgamma
    np.floor np.ceil np.trunc np.rint math.degrees np.deg2rad np.reciprocal np.square np.sign math.fabs np.negative
    """.split()
)
BINARY = (
    "math.atan2", "math.hypot", "math.fmod", "np.copysign", "np.nextafter", "math.remainder", "np.fmax", "np.fmin", "math.pow",
    "np.minimum", "np.maximum", "np.logaddexp", "np.logaddexp2", "np.heaviside", "np.power", "np.subtract", "np.true_divide",
    "np.floor_divide", "np.remainder",
)  # fmt: skip
COMPLEX_UNARY = ("np.exp", "np.log", "np.sqrt", "np.sin", "np.cos", "np.tan", "np.sinh", "np.cosh", "np.tanh")
EXACT_IN_NUMPY = {
    "math.sqrt": np.sqrt, "np.floor": np.floor, "np.ceil": np.ceil, "np.trunc": np.trunc, "np.rint": np.rint, "math.fabs": np.abs,
    "np.negative": np.negative, "np.square": np.square, "np.copysign": np.copysign, "np.subtract": np.subtract,
    "np.true_divide": np.true_divide, "np.floor_divide": np.floor_divide, "np.remainder": np.remainder, "math.fmod": np.fmod,
}  # fmt: skip
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
BITWISE = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
WIDER = {
    type: tuple(narrower.split())
    for type, narrower in {
        "i8": "", "i16": "i8 u8", "i32": "i16 u16 i8 u8", "i64": "i32 u32 i16 u8", "u8": "", "u16": "u8", "u32": "u16 u8",
        "u64": "u32 u8", "f16": "", "bf16": "", "f32": "f16 bf16 i16 u16 i8 u8", "f64": "f32 f16 bf16 i32 u32 i8",
        "complex64": "f32 bf16 i16", "complex128": "f64 complex64 i32 f32", "bool_": "",
    }.items()
}  # fmt: skip
"""Some of the types that become a type without a cast."""
INTEGER_LITERALS = (
    0,
    1,
    2,
    3,
    -1,
    7,
    10,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53 + 1,
    2**63 - 1,
)
FLOAT_LITERALS = (
    "0.0",
    "1.0",
    "0.5",
    "2.0",
    "-1.5",
    "-0.0",
    "3.25",
    "0.1",
    "1e-3",
    "100.0",
    "1e4",
    "math.pi",
    "np.inf",
    "-np.inf",
    "math.nan",
)
DOUBLE_LITERALS = ("1e308", "5e-324", "1.7976931348623157e308", "9007199254740993.0", "2.2250738585072014e-308")
