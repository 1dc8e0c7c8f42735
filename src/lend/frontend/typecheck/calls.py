"""Calls: find out what is called.

Does: tell casts, records, known functions, words of the language, device functions and kernels apart; type the first two and the
words.  Does not: type the others (`known_functions.py`, `inlining.py`, `kernel_calls.py`).
Invariants: functions are known by identity, never by spelling.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.emitter import Refused
from lend.frontend.typecheck.entities import (
    Array,
    Entity,
    Function,
    Method,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
)
from lend.frontend.typecheck.inlining import Inlining
from lend.frontend.typecheck.vectors import is_vector
from lend.frontend.typecheck.wording import object_text
from lend.ir import syntax
from lend.language import functions, intrinsics
from lend.language.dtypes import scalar_of_class
from lend.language.intrinsics import DeviceFunction
from lend.language.structs import struct_type
from lend.language.types import (
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F32,
    F64,
    I64,
    INDEX,
    ScalarType,
    StructType,
    VectorType,
)

_ONLY_AS_LOOP = {
    "grid": "for i in lend.grid(N):",
    "static_range": "for k in lend.static_range(4):",
    "blocks": "for b in lend.blocks(n):",
    "threads": "for t in lend.threads(64):",
}


def given_type(object: Any) -> ScalarType | None:
    """The type that a Python object stands for."""
    return object if isinstance(object, ScalarType) else scalar_of_class(object)


def draws_random_numbers(target: Any) -> bool:
    """Whether a function is one of NumPy's or Python's generators of random numbers."""
    owner = type(getattr(target, "__self__", None)).__module__
    return owner == "random" or owner.startswith("numpy.random")


class Calls(Inlining):
    """Typing of calls."""

    def call(self, expression: syntax.Call) -> Entity:
        """A call expression."""
        span = expression.span
        callee = self.check(expression.function)
        arguments = [self.check(argument) for argument in expression.arguments]
        keywords = {name: self.check(value) for name, value in expression.keywords}
        return self.call_entity(callee, arguments, keywords, span)

    def call_entity(self, callee: Entity, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call an entity."""
        if isinstance(callee, Function):
            return self.call_function(callee, arguments, keywords, span)
        if isinstance(callee, Method) and isinstance(callee.receiver, Array) and callee.name != "reshape":
            return self.call_atomic(callee.receiver, callee.name, [self.settle(a) for a in arguments], keywords, span)
        if isinstance(callee, Method):
            self.no_keywords(keywords, callee.name, span)
            return self.call_method(callee, arguments, span)
        if isinstance(callee, Poison):
            raise Refused
        if not isinstance(callee, Python):
            self.refuse("L0222", f"{self.describe(callee)} cannot be called", span, "not a function")
        return self.call_python(callee.object, arguments, keywords, span)

    def call_python(self, target: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call what a captured Python object stands for."""
        if target is complex:
            return self.make_complex(arguments, span)
        scalar = given_type(target)
        if scalar is not None:
            self.no_keywords(keywords, scalar.name, span)
            return self.call_cast(scalar, target, arguments, span)
        struct = struct_type(target)
        if struct is not None:
            return self.make_record(struct, arguments, keywords, span)
        entry = functions.lookup(target)
        if entry is not None:
            self.no_keywords(keywords, getattr(target, "__name__", "this function"), span)
            return self.call_known(entry, target, [self.settle(a) for a in arguments], span)
        word = self.call_word(target, arguments, keywords, span)
        if word is not None:
            return word
        kernel = getattr(target, "__lend_kernel__", None)
        if kernel is not None:
            return self.call_kernel(target, arguments, keywords, span)
        if isinstance(target, DeviceFunction | types.FunctionType):
            return self.call_function(self.function_entity(target, span), arguments, keywords, span)
        return self.refuse_callee(target, span)

    def refuse_callee(self, target: Any, span: Span) -> Entity:
        """Refuse a callable that kernels do not know."""
        if not callable(target):
            self.refuse("L0222", f"{object_text(target)} cannot be called", span, "not a function")
        written = span.text.split("(")[0]
        name = written if written.replace(".", "").isidentifier() else getattr(target, "__name__", "this function")
        module, label, fix = str(getattr(target, "__module__", "")), "not a function of kernels", None
        if draws_random_numbers(target):
            label = "it keeps a state that all iterations would share"
            fix = "write `lend.algorithms.uniform_at(seed, i)` or `normal_at`, which compute number `i` of a seed"
        elif isinstance(target, np.ufunc) or module.startswith("numpy"):
            label = "not one of NumPy's functions of single numbers"
            last = name.rpartition(".")[2]
            fix = f"make the array with `lend.{last}(f64, n)`" if last in ("zeros", "empty") else "write a loop over the elements"
        elif module != "builtins":
            fix = "write it in Python, as a plain function under `@lend.function`"
        self.refuse("L0223", f"kernels do not have `{name}`", span, label, fix=fix)

    def no_keywords(self, keywords: dict[str, Entity], name: str, span: Span) -> None:
        """Refuse keyword arguments where there are none."""
        if keywords:
            self.refuse(
                "L0224", f"`{name}` takes no keyword arguments in kernels", span, f"`{next(iter(keywords))}=` is not known"
            )

    # -------------------------------------------------------------------------------------------------------------- casts

    def call_cast(self, type: ScalarType, target: Any, arguments: list[Entity], span: Span) -> Entity:
        """`f32(x)`, `int(x)`, `np.float32(x)`."""
        name = getattr(target, "__name__", None) or type.name
        self.count(arguments, (1,) if target not in (int, float, bool) else (0, 1), name, span)
        if not arguments:
            return Number(type(0), type)
        if type is BOOL_:
            return self.truth(self.settle(arguments[0]), span)
        return self.cast(self.number(arguments[0], span, f"the argument of `{name}`"), type, span)

    def bitcast(self, arguments: list[Entity], span: Span) -> Entity:
        """`lend.bitcast(x, u64)`."""
        self.count(arguments, (2,), "lend.bitcast", span)
        given, wanted = arguments
        type = given_type(wanted.object) if isinstance(wanted, Python) else None
        if type is None or type.kind in ("bool", "complex"):
            what = self.describe(wanted)
            self.refuse(
                "L0222", f"`lend.bitcast` gives an integer or a float, not {what}", span, "the second argument is its type"
            )
        value = self.materialise(given, span)
        source = I64 if value.scalar is INDEX else value.scalar
        if source.kind in ("bool", "complex") or source.bits != type.bits:
            fix = f"cast it: `{type}({span.text.split('(', 1)[-1].split(',')[0]})`" if source.kind != "complex" else None
            self.refuse("L0209", f"the bits of `{source}` are no `{type}`", span, f"`{type}` has {type.bits} bits", fix=fix)
        if source.is_integer and type.is_integer:
            return Scalar(self.cast_value(value, type, span))
        return Scalar(self.math(f"as_{type}", (value,), type, span))

    def make_complex(self, arguments: list[Entity], span: Span) -> Entity:
        """`complex(re, im)`, `complex(x)`."""
        self.count(arguments, (1, 2), "complex", span)
        parts = [self.number(a, span, "the argument of `complex`") for a in arguments]
        if len(parts) == 1:
            return self.cast(parts[0], COMPLEX128, span)
        real, imaginary = parts
        if isinstance(real, Number) and isinstance(imaginary, Number) and real.type is None and imaginary.type is None:
            return Number(complex(real.value, imaginary.value), None)
        type = self.join_or_refuse(real, imaginary, span, "`complex`")
        if type not in (F32, F64):
            type = F64
        values = tuple(self.convert(p, type, span, "a part of a complex number") for p in parts)
        return Scalar(self.math("complex", values, COMPLEX64 if type is F32 else COMPLEX128, span))

    def make_record(self, struct: StructType, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """`P(x, y)`, `V(x)`; a vector of another type is cast."""
        names = [name for name, _ in struct.fields]
        if isinstance(struct, VectorType):
            self.no_keywords(keywords, struct.name, span)
            if len(arguments) == 1 and is_vector(arguments[0]) and len(arguments[0].type.fields) == struct.length:
                numbers = [self.number(item, span) for item in self.items_of(arguments[0])]
                return Record(struct, tuple(self.cast(number, struct.element, span) for number in numbers))
            if len(arguments) == 1:
                arguments = arguments * struct.length
            if len(arguments) != struct.length:
                self.refuse(
                    "L0224",
                    f"`{struct}` has {struct.length} items, not {len(arguments)}",
                    span,
                    f"{counted(len(arguments), 'value')} given",
                    fix=f"write {struct.length} values, or one for all items",
                )
        given: dict[str, Entity] = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            self.refuse(
                "L0224", f"`{struct}` has {len(names)} fields, and {len(arguments)} values are given", span, "too many values"
            )
        for name, value in keywords.items():
            if name not in names or name in given:
                self.refuse(
                    "L0224",
                    f"`{struct}` has no field `{name}`" if name not in names else f"`{name}` is given twice",
                    span,
                    "in this call",
                )
            given[name] = value
        items: list[Entity] = []
        for name, member in struct.fields:
            if name not in given:
                self.refuse(
                    "L0224",
                    f"`{struct}(...)` lacks the field `{name}`",
                    span,
                    f"its fields are {', '.join(f'`{n}`' for n in names)}",
                )
            what = f"the {'item' if isinstance(struct, VectorType) else 'field'} `{name}`"
            items.append(self.part_of_record(given[name], member, what, span, "in this call"))
        return Record(struct, tuple(items))

    # ------------------------------------------------------------------------------------------------ words of the language

    def call_word(self, target: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity | None:
        """`lend.local`, `lend.empty`, `lend.cdiv` and their kin; None if `target` is not one."""
        if target is intrinsics.cdiv:
            self.count(arguments, (2,), "lend.cdiv", span)
            negated = self.negate("-", arguments[0], span)
            return self.negate("-", self.operate("//", negated, arguments[1], span), span)
        if target is intrinsics.local:
            self.no_keywords(keywords, "lend.local", span)
            return self.local(arguments, span)
        words = ((intrinsics.shared, self.shared), (intrinsics.sync, self.sync), (intrinsics.subgroup, self.subgroup))
        for known, method in words:
            if target is known:
                self.no_keywords(keywords, f"lend.{known.__name__}", span)
                return method(arguments, span)
        if target is intrinsics.empty or target is intrinsics.zeros:
            name: str = target.__name__
            self.no_keywords(keywords, f"lend.{name}", span)
            return self.allocate(name, arguments, span)
        if target is intrinsics.as_unique:
            self.no_keywords(keywords, "lend.as_unique", span)
            return self.as_unique(arguments, span)
        if target is intrinsics.bitcast:
            self.no_keywords(keywords, "lend.bitcast", span)
            return self.bitcast(arguments, span)
        if target is intrinsics.indices_differ:
            return self.indices_differ(arguments, span)
        if target is intrinsics.unchecked:
            self.refuse(
                "L0225",
                "`lend.unchecked` is a block",
                span,
                "not in a `with` here",
                fix='write `with lend.unchecked("reason"):`',
            )
        for name, usage in _ONLY_AS_LOOP.items():
            if target is getattr(intrinsics, name):
                self.refuse("L0225", f"`lend.{name}` is a loop", span, "not in a `for` here", fix=f"write `{usage}`")
        return None

    def as_unique(self, arguments: list[Entity], span: Span) -> Entity:
        """`lend.as_unique(...)` (defined in `computed_indices.py`)."""
        raise NotImplementedError

    def indices_differ(self, arguments: list[Entity], span: Span) -> Entity:
        """What `lend.as_unique` rests on (defined in `computed_indices.py`)."""
        raise NotImplementedError

    def call_kernel(self, kernel: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call another kernel at host level (defined in `kernel_calls.py`)."""
        raise NotImplementedError
