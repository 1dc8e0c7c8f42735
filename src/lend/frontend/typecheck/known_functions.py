"""Calls of known functions: `math`, NumPy's scalar functions, Python's builtins, methods.

Does: type them.  Does not: know which Python objects they are (`language/functions.py`).
Invariants: arguments are joined and made floating as `docs/semantics.md` says.
"""

from __future__ import annotations

from typing import Any, NoReturn

from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Entity,
    Method,
    Number,
    Scalar,
    Subgroups,
    TupleOf,
)
from lend.frontend.typecheck.team_words import TeamWords
from lend.frontend.typecheck.vectors import is_vector
from lend.language import functions, library
from lend.language.functions import Fold, Library, OperatorFunction, Primitive, Special
from lend.language.types import (
    BOOL_,
    F64,
    I64,
    PART,
)

_LOOPS = ("range", "enumerate", "zip")
_ADVICE: dict[str, str] = {
    "print": "return the value, or set a breakpoint and call `{kernel}.py(...)`",
    "sum": "write a loop with `s += x[k]`",
    "any": "write a loop with `found |= condition`",
    "all": "write a loop with `holds &= condition`",
    "sorted": "sort before the call, with `np.sort`",
    "isinstance": "types are known when the kernel is compiled: use a `comptime` parameter",
    "range": "write `for k in range(...):`",
    "enumerate": "write `for k, v in enumerate(a_tuple):`",
    "zip": "write `for a, b in zip(a_tuple, another):`",
}


FLOATING = (library.degrees, library.radians, library.reciprocal, library.heaviside, library.logaddexp, library.logaddexp2)
"""Functions of the library that compute in floating point where all arguments are integers."""

REAL = (library.degrees, library.radians, library.heaviside, library.logaddexp, library.logaddexp2)
"""Functions of the library that complex numbers do not have."""


class KnownFunctions(TeamWords):
    """Typing of calls of known functions."""

    def call_known(self, entry: functions.Entry, target: Any, arguments: list[Entity], span: Span) -> Entity:
        """A function of `math`, NumPy or Python's builtins."""
        name = getattr(target, "__name__", "this function")
        if isinstance(entry, Primitive | OperatorFunction | Library) and any(map(is_vector, arguments)):
            return self.by_items(arguments, span, f"`{name}`", lambda items: self.call_known(entry, target, items, span))
        match entry:
            case Primitive():
                self.count(arguments, (entry.arity,), name, span)
                return self.primitive(entry, name, arguments, span)
            case OperatorFunction():
                self.count(arguments, (entry.arity,), name, span)
                if entry.floating:
                    arguments = self.floating_operands(entry, arguments, name, span)
                if entry.op == "abs":
                    return self.absolute(arguments[0], span)
                if entry.op in ("and", "or"):
                    both = [self.truth(a, span) for a in arguments]
                    return self.operate("&" if entry.op == "and" else "|", both[0], both[1], span)
                if entry.arity == 1:
                    return self.negate(entry.op, arguments[0], span)
                return self.operate(entry.op, arguments[0], arguments[1], span)
            case Fold():
                if len(arguments) == 1 and (isinstance(arguments[0], TupleOf) or is_vector(arguments[0])):
                    arguments = list(self.items_of(arguments[0]))
                if len(arguments) < 2:
                    self.refuse(
                        "L0224",
                        f"`{name}` needs at least two values",
                        span,
                        f"{counted(len(arguments), 'value')} given",
                        fix=f"write `{entry.op}(a, b)`",
                    )
                return self.extremum(entry.op, arguments, span)
            case Library():
                return self.call_library(entry, name, arguments, span)
            case Special():
                return self.call_special(entry.name, arguments, span)

    def count(self, arguments: list[Entity], allowed: tuple[int, ...], name: str, span: Span) -> None:
        """Refuse a wrong number of arguments."""
        if len(arguments) not in allowed:
            wanted = " or ".join(map(str, allowed))
            self.refuse(
                "L0224",
                f"`{name}` takes {wanted} argument{'s' if allowed != (1,) else ''}, not {len(arguments)}",
                span,
                f"{counted(len(arguments), 'argument')} given",
            )

    def call_library(self, entry: Library, name: str, arguments: list[Entity], span: Span) -> Entity:
        """A function written in kernel code."""
        integral = entry.python in (library.gcd, library.lcm, library.isqrt)
        numbers = [self.number(a, span, f"an argument of `{name}`") for a in arguments]
        if integral:
            for number in numbers:
                type = self.scalar_type(number)
                if (type is not None and not type.is_integer) or (type is None and not isinstance(self.sample(number), int)):
                    self.refuse("L0207", f"`{name}` takes integers", self.where(number, span), f"this is {self.describe(number)}")
        elif entry.python is library.sign and (t := self.scalar_type(numbers[0])) is not None and t.kind == "uint":
            return self.extremum("min", [numbers[0], Number(1, None)], span)
        if entry.python in REAL and any(self.is_complex(n) for n in numbers):
            self.refuse_complex(name, span)
        if entry.python in FLOATING and all(self.is_integral(n) for n in numbers):
            for other in numbers[1:]:
                self.join_or_refuse(numbers[0], other, span, f"`{name}`")
            numbers = [self.float_argument(n, name, span) for n in numbers]
        return self.call_function(self.function_entity(entry.python, span), list(numbers), {}, span)

    def floating_operands(self, entry: OperatorFunction, arguments: list[Entity], name: str, span: Span) -> list[Entity]:
        """The operands of a function that is an operator in floating point: `math.pow`, `math.fabs`."""
        numbers = [self.number(a, span, f"an argument of `{name}`") for a in arguments]
        if entry.op == "abs" and self.is_complex(numbers[0]):
            self.refuse_complex(name, span)
        if not all(self.is_integral(n) for n in numbers):
            return arguments
        if len(numbers) > 1:
            self.join_or_refuse(numbers[0], numbers[1], span, f"`{name}`")
        return [self.float_argument(numbers[0], name, span), *numbers[1:]]  # the second follows the first

    def refuse_complex(self, name: str, span: Span) -> NoReturn:
        """A function of real numbers only."""
        self.refuse(
            "L0209",
            f"`{name}` of a complex number",
            span,
            "this function takes real numbers",
            fix="use `abs(...)`, `.real` or `.imag`",
        )

    def float_argument(self, entity: Number | Scalar, name: str, span: Span) -> Number | Scalar:
        """An integer argument of a floating function becomes f64."""
        type = self.floating(entity, span, f"an argument of `{name}`")
        if isinstance(entity, Number) and entity.type is None:
            return entity if not isinstance(entity.value, int) else Number(float(entity.value), None)
        return Scalar(self.convert(entity, type, span, f"an argument of `{name}`"))

    def primitive(self, entry: Primitive, name: str, arguments: list[Entity], span: Span) -> Entity:
        """A primitive mathematical function: arguments joined and made floating."""
        numbers = [self.number(a, span, f"an argument of `{name}`") for a in arguments]
        if entry.result == "i64" and all(self.is_integral(n) for n in numbers):
            return numbers[0]
        if entry.name == "conj" and all(not self.is_complex(n) for n in numbers):
            return numbers[0]
        type = self.floating(numbers[0], span, f"an argument of `{name}`")
        if len(numbers) > 1:
            joined = numbers[0]
            for number in numbers[1:]:
                type = self.join_or_refuse(joined, number, span, f"`{name}`")
                joined = (
                    Number(type(0), type)
                    if not (self.scalar_type(joined) is None and self.scalar_type(number) is None)
                    else joined
                )
            if type.kind not in ("float", "complex"):
                type = F64
        if type.kind == "complex" and entry.domain == "real":
            self.refuse_complex(name, span)
        values = tuple(self.convert(n, type, span, f"an argument of `{name}`") for n in numbers)
        if entry.name in ("isnan", "isinf", "isfinite") and type.kind == "complex":
            parts = [self.math(part, values, PART[type], span) for part in ("real", "imag")]
            tests = [self.math(entry.name, (p,), BOOL_, span) for p in parts]
            return Scalar(self.binary("and" if entry.name == "isfinite" else "or", tests[0], tests[1], span))
        if entry.result == "bool":
            return Scalar(self.math(entry.name, values, BOOL_, span))
        result = self.math(entry.name, values, type, span)
        return Scalar(self.cast_value(result, I64, span)) if entry.result == "i64" else Scalar(result)

    def is_integral(self, entity: Number | Scalar) -> bool:
        """Whether an entity is an integer or a bool."""
        type = self.scalar_type(entity)
        return isinstance(self.sample(entity), int) if type is None else (type.is_integer or type is BOOL_)

    def is_complex(self, entity: Number | Scalar) -> bool:
        """Whether an entity is complex."""
        type = self.scalar_type(entity)
        return isinstance(self.sample(entity), complex) if type is None else type.kind == "complex"

    def call_special(self, name: str, arguments: list[Entity], span: Span) -> Entity:
        """Functions with rules of their own."""
        match name:
            case "len":
                self.count(arguments, (1,), name, span)
                if isinstance(arguments[0], Array):
                    return self.as_size(arguments[0].shape[0], span)
                if isinstance(arguments[0], TupleOf) or is_vector(arguments[0]):
                    return Number(len(self.items_of(arguments[0])), None)
                self.refuse(
                    "L0208", f"{self.describe(arguments[0])} has no length", span, "only arrays, tuples and vectors have one"
                )
            case "sum" if len(arguments) == 1 and (isinstance(arguments[0], TupleOf) or is_vector(arguments[0])):
                return self.sum_of(self.items_of(arguments[0]), span)
            case "round":
                if len(arguments) == 2:
                    self.refuse(
                        "L0224",
                        "`round` to a number of digits",
                        span,
                        "kernels round to integers",
                        fix="write `round(x * 100) / 100`",
                    )
                self.count(arguments, (1,), name, span)
                number = self.number(arguments[0], span, "the argument of `round`")
                if self.is_integral(number):
                    return self.cast(number, I64, span)
                value = self.convert(
                    number, self.floating(number, span, "the argument of `round`"), span, "the argument of `round`"
                )
                if value.scalar.kind == "complex":
                    self.refuse("L0209", "`round` of a complex number", span, "Python refuses this too")
                return Scalar(self.cast_value(self.math("rint", (value,), value.scalar, span), I64, span))
            case "divmod":
                self.count(arguments, (2,), name, span)
                return TupleOf(
                    (self.operate("//", arguments[0], arguments[1], span), self.operate("%", arguments[0], arguments[1], span))
                )
            case "where":
                self.count(arguments, (3,), name, span)
                return self.select(arguments, span)
            case "real" | "imag":
                self.count(arguments, (1,), name, span)
                return self.part(self.number(arguments[0], span), name, span)
            case "bit_count":
                self.count(arguments, (1,), name, span)
                value = self.materialise(arguments[0], span)
                if not value.scalar.is_integer:
                    self.refuse("L0209", f"`bit_count` of `{value.scalar}`", span, "bit operations are of integers")
                if value.scalar.kind == "int":  # Python and NumPy count the bits of the absolute value
                    value = self.materialise(self.absolute(Scalar(value), span), span)
                return Scalar(self.math("popcount", (value,), value.scalar, span))
            case _:
                self.refuse(
                    "L0223",
                    f"kernels do not have `{name}`" if name not in _LOOPS else f"`{name}` stands only in a `for`",
                    span,
                    "this call",
                    fix=_ADVICE[name].format(kernel=self.frames[0].name) if name in _ADVICE else None,
                )

    def sum_of(self, items: tuple[Entity, ...], span: Span) -> Entity:
        """`sum` of a tuple or a vector, from the first item on."""
        if len(items) < 2:
            return self.negate("+", items[0], span) if items else Number(0, None)
        total = items[0]
        for item in items[1:]:
            total = self.operate("+", total, item, span)
        return total

    def select(self, arguments: list[Entity], span: Span) -> Entity:
        """`np.where(c, a, b)` of scalars: both are evaluated."""
        test = self.truth(arguments[0], span)
        if isinstance(test, Number):
            return arguments[1] if test.value else arguments[2]
        result = self.branch(test.value, span, lambda: arguments[1], lambda: arguments[2])
        if isinstance(result, Conflict):
            self.refuse("L0203", f"the two values have no single type: {result.why}", span, "in this call", fix=result.fix)
        return result

    def call_method(self, method: Method, arguments: list[Entity], span: Span) -> Entity:
        """`x.reshape(n, m)`, `z.conjugate()`, `sg.shuffle(v, lane)`."""
        if isinstance(method.receiver, Subgroups):
            return self.call_subgroup(method.receiver, method.name, [self.settle(a) for a in arguments], span)
        if isinstance(method.receiver, Array):
            return self.reshape(method.receiver, arguments, span)
        self.count(arguments, (0,), "conjugate", span)
        if not self.is_complex(method.receiver):
            return method.receiver
        value = self.materialise(method.receiver, span)
        return Scalar(self.math("conj", (value,), value.scalar, span))
