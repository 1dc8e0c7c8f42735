"""Scalar operations of the typed tree -> LLVM instructions.

Does: give each operator, cast, load and store DESIGN's semantics, the same on every target.  Does not: test preconditions (the
caller guards divisors, shift counts and exponents) or compute addresses.
Invariants: no instruction here can be undefined or poison for any operand that meets the preconditions; f16 and bf16 values are
in a `float` register that holds a value of the narrow type exactly, so every operation on them ends in a rounding.

Example: `ScalarEmitter(builder, "default").binary("floordiv", I32, "%a", "%b")` appends the instructions and gives `%v.7`.
"""

from __future__ import annotations

import math

from lend.diagnostics.errors import InternalError
from lend.ir.typed import BinaryOperator, UnaryOperator
from lend.language.rounding import rounding
from lend.language.types import BF16, F16, PART, MathMode, ScalarType
from lend.lower import math as math_functions
from lend.lower import scalar_casts, scalar_complex, scalar_narrow
from lend.lower.builder import FunctionBuilder
from lend.lower.scalar_types import float_text, memory_type, register_type

FLAGS: dict[MathMode, str] = {"strict": "", "default": "contract ", "fast": "reassoc nsz arcp contract afn "}

_SIGNED_COMPARE = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED_COMPARE = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
_FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


class ScalarEmitter:
    """Appends scalar operations to a function. `math` is the kernel's mode: which rewrites of float arithmetic are allowed."""

    def __init__(self, builder: FunctionBuilder, math: MathMode) -> None:
        self.builder = builder
        self.mode: MathMode = math
        self.flags = FLAGS[math]

    def without_flags(self, builder: FunctionBuilder) -> ScalarEmitter:
        """An emitter for a helper function in the same mode, but whose float operations are done as written."""
        emitter = ScalarEmitter(builder, self.mode)
        emitter.flags = ""
        return emitter

    # ------------------------------------------------------------------------------------------- constants

    def constant(self, type: ScalarType, value: int | float | complex | bool) -> str:
        """The operand text of a literal that is already a value of `type` (narrow floats are rounded again, harmlessly)."""
        if type.kind == "bool":
            return "true" if value else "false"
        if type.kind == "complex":
            part = PART[type]
            name, number = register_type(part), complex(value)
            return f"{{ {name} {self.constant(part, number.real)}, {name} {self.constant(part, number.imag)} }}"
        assert not isinstance(value, complex)
        if type.kind == "float":
            return float_text(rounding(type)(float(value)))
        wrapped = int(value) & ((1 << type.bits) - 1)  # LLVM's integers have no sign; its texts are simplest in the signed range
        return str(wrapped - (1 << type.bits) if wrapped >> (type.bits - 1) else wrapped)

    # ------------------------------------------------------------------------------------------- operators

    def unary(self, operator: UnaryOperator, operand_type: ScalarType, a: str) -> str:
        """`operator a`. `abs` of a complex value gives a value of its part's type."""
        emit, name = self.builder.emit, register_type(operand_type)
        kind = operand_type.kind
        if operator == "not" or (operator == "invert" and kind == "bool"):
            return emit(f"xor i1 {a}, true")
        if operator == "invert":
            return emit(f"xor {name} {a}, -1")
        if kind == "complex":
            return scalar_complex.unary(self, operator, operand_type, a)
        if kind == "float":
            if operator == "neg":
                return emit(f"fneg {name} {a}")
            return self.intrinsic("fabs", name, [a], flags="")
        if operator == "neg":
            return emit(f"sub {name} 0, {a}")
        if kind == "int":
            self.declare(f"llvm.abs.{name}", name, [name, "i1 immarg"])
            return emit(f"call {name} @llvm.abs.{name}({name} {a}, i1 false)")
        return a

    def binary(self, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> str:
        """`a operator b`, both of `type`; comparisons give an `i1`.

        Preconditions: an integer divisor is not zero, a shift count and an integer exponent are not negative.
        """
        if type.kind == "bool":
            return self._bool(operator, a, b)
        if type.kind == "complex":
            return scalar_complex.binary(self, operator, type, a, b)
        if type.kind == "float":
            return self._float(operator, type, a, b)
        return self._integer(operator, type, a, b)

    def math(self, function: str, argument_types: list[ScalarType], arguments: list[str], result_type: ScalarType) -> str:
        """A function of `ir.typed.Math`, by name."""
        return math_functions.emit(self, function, argument_types, arguments, result_type)

    def cast(self, source: ScalarType, target: ScalarType, a: str) -> str:
        """Conversion as `ir.typed.Cast` says."""
        return scalar_casts.cast(self, source, target, a)

    def select(self, type: ScalarType, condition: str, then: str, orelse: str) -> str:
        """`then if condition else orelse`, both already computed."""
        name = register_type(type)
        return self.builder.emit(f"select i1 {condition}, {name} {then}, {name} {orelse}")

    # ---------------------------------------------------------------------------------------------- memory

    def load(self, type: ScalarType, pointer: str, align: int, metadata: str = "") -> str:
        """Read one value; `metadata` (`, !alias.scope !3`) goes on every memory instruction. Any byte but 0 is True."""
        emit = self.builder.emit
        if type.kind == "complex":
            parts = [self.load(PART[type], p, size, metadata) for p, size in self._parts(type, pointer, align)]
            return self.pair(type, parts[0], parts[1])
        raw = emit(f"load {memory_type(type)}, ptr {pointer}, align {align}{metadata}")
        if type.kind == "bool":
            return emit(f"icmp ne i8 {raw}, 0")
        if type in (F16, BF16):
            return scalar_narrow.from_bits(self, type, raw)
        return raw

    def apart(self, type: ScalarType, value: str) -> str:
        """The same float, made by an instruction of its own, whatever uses it (`gathers.py`)."""
        name, llvm = f"llvm.arithmetic.fence.f{8 * type.bytes}", register_type(type)
        self.builder.module.declare(name, f"declare {llvm} @{name}({llvm})")
        return self.builder.emit(f"call {llvm} @{name}({llvm} {value})")

    def store(self, type: ScalarType, value: str, pointer: str, align: int, metadata: str = "") -> None:
        """Write one value."""
        if type.kind == "complex":
            for value_part, (place, size) in zip(self.parts(type, value), self._parts(type, pointer, align), strict=True):
                self.store(PART[type], value_part, place, size, metadata)
            return
        if type.kind == "bool":
            value = self.builder.emit(f"zext i1 {value} to i8")
        elif type in (F16, BF16):
            value = scalar_narrow.to_bits(self, type, value)
        self.builder.append(f"store {memory_type(type)} {value}, ptr {pointer}, align {align}{metadata}")

    def _parts(self, type: ScalarType, pointer: str, align: int) -> list[tuple[str, int]]:
        """Where the real and the imaginary part of a complex value lie, with their alignments."""
        size = PART[type].bytes
        second = self.builder.emit(f"getelementptr i8, ptr {pointer}, i64 {size}", _stem(pointer))
        return [(pointer, align), (second, math.gcd(align, size))]

    # ------------------------------------------------------------------------- building blocks of this folder

    def declare(self, name: str, result: str, parameters: list[str], attributes: str = "") -> None:
        """Declare an external function or an intrinsic, once in the module."""
        self.builder.module.declare(name, f"declare {result} @{name}({', '.join(parameters)}){attributes}")

    def intrinsic(self, name: str, type: str, arguments: list[str], flags: str | None = None) -> str:
        """Call `@llvm.name` of one overloaded `type`, which all arguments and the result have."""
        suffix = {"float": "f32", "double": "f64"}.get(type, type)
        full = f"llvm.{name}.{suffix}"
        self.declare(full, type, [type] * len(arguments))
        allowed = self.flags if flags is None and type in ("float", "double") else flags or ""
        return self.builder.emit(f"call {allowed}{type} @{full}({', '.join(f'{type} {a}' for a in arguments)})")

    def call_helper(self, name: str, result: str, arguments: list[tuple[str, str]]) -> str:
        """Call a function of this module: `arguments` are (type, value)."""
        return self.builder.emit(f"call {result} @{name}({', '.join(f'{t} {a}' for t, a in arguments)})")

    def pair(self, type: ScalarType, real: str, imaginary: str) -> str:
        """A complex value from its parts."""
        whole, part = register_type(type), register_type(PART[type])
        half = self.builder.emit(f"insertvalue {whole} poison, {part} {real}, 0")
        return self.builder.emit(f"insertvalue {whole} {half}, {part} {imaginary}, 1")

    def parts(self, type: ScalarType, value: str) -> tuple[str, str]:
        """The parts of a complex value."""
        whole = register_type(type)
        return (
            self.builder.emit(f"extractvalue {whole} {value}, 0"),
            self.builder.emit(f"extractvalue {whole} {value}, 1"),
        )

    def rounded(self, type: ScalarType, value: str) -> str:
        """A result computed in `float` as a value of `type`: rounded if that is f16 or bf16."""
        return scalar_narrow.round_float(self, type, value) if type in (F16, BF16) else value

    @property
    def strictly_rounded(self) -> bool:
        """Whether f32 divisions and square roots need more than the target's own to be rounded correctly."""
        return self.mode == "strict" and not self.builder.module.dialect.rounds_division

    def extremum(self, operator: str, name: str, a: str, b: str) -> str:
        """The smaller ("min") or larger of two `float` or `double`: NaN if one is, and -0 below 0."""
        if self.builder.module.dialect.orders_nan:
            return self.intrinsic("minimum" if operator == "min" else "maximum", name, [a, b], flags="")
        emit, bits = self.builder.emit, "i64" if name == "double" else "i32"
        first = emit(f"fcmp {'olt' if operator == 'min' else 'ogt'} {name} {a}, {b}")
        chosen = emit(f"select i1 {first}, {name} {a}, {name} {b}")
        both = [emit(f"bitcast {name} {value} to {bits}") for value in (a, b)]
        zeros = emit(f"{'or' if operator == 'min' else 'and'} {bits} {both[0]}, {both[1]}")
        equal = emit(f"fcmp oeq {name} {a}, {b}")
        chosen = emit(f"select i1 {equal}, {name} {emit(f'bitcast {bits} {zeros} to {name}')}, {name} {chosen}")
        unordered = emit(f"fcmp uno {name} {a}, {b}")
        return emit(f"select i1 {unordered}, {name} {emit(f'fadd {name} {a}, {b}')}, {name} {chosen}")

    def remainder(self, name: str, a: str, b: str) -> str:
        """C's `fmod`, exact."""
        if self.builder.module.dialect.has_remainder:
            return self.builder.emit(f"frem {name} {a}, {b}")
        return math_functions.call_symbol(self, "fmod", name, [a, b])

    def square_root(self, name: str, a: str) -> str:
        """The square root, under "strict" rounded correctly."""
        if name == "float" and self.strictly_rounded:
            return self._by_way_of_double("sqrt", [a])
        return self.intrinsic("sqrt", name, [a])

    def _by_way_of_double(self, operation: str, operands: list[str]) -> str:
        """An operation on f32 in f64, whose result, rounded again, is as if rounded once."""
        emit = self.builder.emit
        wide = [emit(f"fpext float {operand} to double") for operand in operands]
        if operation == "sqrt":
            result = self.intrinsic("sqrt", "double", wide, flags="")
        else:
            result = emit(f"{operation} double {wide[0]}, {wide[1]}")
        return emit(f"fptrunc double {result} to float")

    # ------------------------------------------------------------------------------------ operators by kind

    def _bool(self, operator: BinaryOperator, a: str, b: str) -> str:
        emit = self.builder.emit
        if operator in _UNSIGNED_COMPARE:
            return emit(f"icmp {_UNSIGNED_COMPARE[operator]} i1 {a}, {b}")
        instruction = {"and": "and", "mul": "and", "min": "and", "or": "or", "add": "or", "max": "or", "xor": "xor"}.get(operator)
        if instruction is None:
            raise InternalError(f"no operator {operator} of bool_")
        return emit(f"{instruction} i1 {a}, {b}")

    def _integer(self, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> str:
        emit, name = self.builder.emit, register_type(type)
        signed = type.kind == "int"
        if operator in _SIGNED_COMPARE:
            return emit(f"icmp {(_SIGNED_COMPARE if signed else _UNSIGNED_COMPARE)[operator]} {name} {a}, {b}")
        if operator in ("add", "sub", "mul", "and", "or", "xor"):
            return emit(f"{operator} {name} {a}, {b}")
        if operator in ("min", "max"):
            return self.intrinsic(("s" if signed else "u") + operator, name, [a, b])
        if operator in ("floordiv", "mod"):
            if not signed:
                return emit(f"{'udiv' if operator == 'floordiv' else 'urem'} {name} {a}, {b}")
            return self._signed_division(operator, name, a, b)
        if operator in ("shl", "shr"):
            return self._shift(operator, type, a, b)
        if operator == "pow":
            return self._integer_power(name, a, b)
        raise InternalError(f"no operator {operator} of {type}")

    def _signed_division(self, operator: BinaryOperator, name: str, a: str, b: str) -> str:
        """Floor division or modulo. Dividing by -1 is negation, which wraps; the machine's instruction would trap there."""
        emit = self.builder.emit
        minus = emit(f"icmp eq {name} {b}, -1")
        divisor = emit(f"select i1 {minus}, {name} 1, {name} {b}")
        rest = emit(f"srem {name} {a}, {divisor}")
        inexact = emit(f"icmp ne {name} {rest}, 0")
        signs = emit(f"xor {name} {rest}, {b}")
        opposite = emit(f"icmp slt {name} {signs}, 0")
        adjust = emit(f"and i1 {inexact}, {opposite}")
        if operator == "mod":
            moved = emit(f"add {name} {rest}, {b}")
            return emit(f"select i1 {adjust}, {name} {moved}, {name} {rest}")
        quotient = emit(f"sdiv {name} {a}, {divisor}")
        step = emit(f"sext i1 {adjust} to {name}")
        floored = emit(f"add {name} {quotient}, {step}")
        negated = emit(f"sub {name} 0, {a}")
        return emit(f"select i1 {minus}, {name} {negated}, {name} {floored}")

    def _shift(self, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> str:
        emit, name = self.builder.emit, register_type(type)
        inside = emit(f"icmp ult {name} {b}, {type.bits}")
        if operator == "shr" and type.kind == "int":
            count = emit(f"select i1 {inside}, {name} {b}, {name} {type.bits - 1}")
            return emit(f"ashr {name} {a}, {count}")
        shifted = emit(f"{'shl' if operator == 'shl' else 'lshr'} {name} {a}, {b}")
        return emit(f"select i1 {inside}, {name} {shifted}, {name} 0")

    def _integer_power(self, name: str, a: str, b: str) -> str:
        """By squaring, in a helper function that is inlined so that a constant exponent unrolls."""
        helper = f"lend.pow.{name}"
        self.builder.module.declare(helper, _POWER.replace("TYPE", name).replace("NAME", helper))
        return self.call_helper(helper, name, [(name, a), (name, b)])

    def _float(self, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> str:
        emit, name = self.builder.emit, register_type(type)
        if operator in _FLOAT_COMPARE:
            return emit(f"fcmp {_FLOAT_COMPARE[operator]} {name} {a}, {b}")
        if operator in ("min", "max"):
            return self.extremum(operator, name, a, b)
        if operator == "div" and name == "float" and self.strictly_rounded:
            return self.rounded(type, self._by_way_of_double("fdiv", [a, b]))
        if operator in ("add", "sub", "mul", "div"):
            return self.rounded(type, emit(f"f{operator} {self.flags}{name} {a}, {b}"))
        if operator in ("floordiv", "mod"):
            return self.rounded(type, self._float_division(operator, name, a, b))
        if operator == "pow":
            return self.math("pow", [type, type], [a, b], type)
        raise InternalError(f"no operator {operator} of {type}")

    def _float_division(self, operator: BinaryOperator, name: str, a: str, b: str) -> str:
        """`//` and `%` as NumPy's floor_divide and remainder: exact remainder, the divisor's sign, signed zeros.

        No fast-math flags: the steps rely on each rounding.
        """
        emit = self.builder.emit
        zero = float_text(0.0)
        rest = self.remainder(name, a, b)
        by_zero = emit(f"fcmp oeq {name} {b}, {zero}")
        inexact = emit(f"fcmp une {name} {rest}, {zero}")
        b_negative = emit(f"fcmp olt {name} {b}, {zero}")
        rest_negative = emit(f"fcmp olt {name} {rest}, {zero}")
        opposite = emit(f"xor i1 {b_negative}, {rest_negative}")
        adjust = emit(f"and i1 {inexact}, {opposite}")
        if operator == "mod":
            moved = emit(f"fadd {name} {rest}, {b}")
            exact = self.intrinsic("copysign", name, [zero, b], flags="")
            nonzero = emit(f"select i1 {adjust}, {name} {moved}, {name} {rest}")
            result = emit(f"select i1 {inexact}, {name} {nonzero}, {name} {exact}")
            return emit(f"select i1 {by_zero}, {name} {rest}, {name} {result}")
        true_quotient = emit(f"fdiv {name} {a}, {b}")
        difference = emit(f"fsub {name} {a}, {rest}")
        quotient = emit(f"fdiv {name} {difference}, {b}")
        less = emit(f"fsub {name} {quotient}, {float_text(1.0)}")
        quotient = emit(f"select i1 {adjust}, {name} {less}, {name} {quotient}")
        floored = self.intrinsic("floor", name, [quotient], flags="")
        excess = emit(f"fsub {name} {quotient}, {floored}")
        up = emit(f"fcmp ogt {name} {excess}, {float_text(0.5)}")
        next_up = emit(f"fadd {name} {floored}, {float_text(1.0)}")
        rounded = emit(f"select i1 {up}, {name} {next_up}, {name} {floored}")
        signed_zero = self.intrinsic("copysign", name, [zero, true_quotient], flags="")
        nonzero = emit(f"fcmp une {name} {quotient}, {zero}")
        result = emit(f"select i1 {nonzero}, {name} {rounded}, {name} {signed_zero}")
        return emit(f"select i1 {by_zero}, {name} {true_quotient}, {name} {result}")


def _stem(pointer: str) -> str:
    """What the names of pointers into the same memory begin with."""
    return pointer[1:].partition(".")[0] if pointer.startswith("%") else "p"


_POWER = """define internal TYPE @NAME(TYPE %base, TYPE %exponent) alwaysinline nounwind willreturn memory(none) {
entry:
  br label %head
head:
  %b = phi TYPE [ %base, %entry ], [ %squared, %head ]
  %e = phi TYPE [ %exponent, %entry ], [ %half, %head ]
  %r = phi TYPE [ 1, %entry ], [ %next, %head ]
  %low = and TYPE %e, 1
  %odd = icmp ne TYPE %low, 0
  %factor = select i1 %odd, TYPE %b, TYPE 1
  %next = mul TYPE %r, %factor
  %squared = mul TYPE %b, %b
  %half = lshr TYPE %e, 1
  %done = icmp eq TYPE %half, 0
  br i1 %done, label %exit, label %head
exit:
  ret TYPE %next
}"""


__all__ = ["MathMode", "ScalarEmitter", "memory_type", "register_type"]
