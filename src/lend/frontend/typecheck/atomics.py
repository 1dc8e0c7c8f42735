"""Atomic arrays: `h[i] += v`, `h.add(i, v)` and the other operations.

Does: type the operations, refuse plain reads and writes of what is `Atomic`.  Does not: look for waiting loops (`waiting.py`).
Invariants: each operation is one `typed.Atomic`; `sub` adds the negative. Block level has none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted, similar
from lend.frontend.typecheck.entities import Array, Entity, Method, Python, Scalar, TupleOf
from lend.frontend.typecheck.expressions import Expressions
from lend.ir import syntax, typed
from lend.ir.typed import AtomicOperator, Extent, MemoryOrder, Value
from lend.language.types import INDEX, Borrow, ScalarType, array_type

OPERATIONS: dict[str, AtomicOperator] = {
    "add": "add",
    "sub": "add",
    "min": "min",
    "max": "max",
    "and_": "and",
    "or_": "or",
    "xor": "xor",
    "exchange": "exchange",
    "compare_exchange": "compare_exchange",
    "load": "load",
    "store": "store",
}
"""The operations by the names of their methods."""

_AUGMENTED = {"+": "add", "-": "sub", "&": "and_", "|": "or_", "^": "xor"}
_VALUES: dict[AtomicOperator, tuple[str, ...]] = {"load": (), "compare_exchange": ("expected", "value")}
_ORDERS: dict[AtomicOperator, tuple[MemoryOrder, ...]] = {
    "load": ("relaxed", "acquire", "seq_cst"),
    "store": ("relaxed", "release", "seq_cst"),
}
_ALL_ORDERS: tuple[MemoryOrder, ...] = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")


def is_atomic(array: Array) -> bool:
    """Whether an array is changed by atomic operations only."""
    return array.value.array.borrow is Borrow.ATOMIC


class Atomics(Expressions):
    """Typing of atomic operations."""

    # ------------------------------------------------------------------------------------------------------- operations

    def array_method(self, base: Array, name: str, span: Span) -> Method | None:
        """`x.reshape`, `h.add`."""
        atomic = is_atomic(base)
        if name == "reshape" or (atomic and name in OPERATIONS):
            return Method(base, name)
        if atomic and name not in ("shape", "ndim", "size", "dtype"):
            known = ", ".join(f"`{method}`" for method in OPERATIONS)
            near = similar(name, OPERATIONS)
            self.refuse(
                "L0417",
                f"`Atomic` arrays have no operation `{name}`",
                span,
                f"they have {known}",
                fix=f"write `{base.name}.{near}(...)`" if near else None,
            )
        if name in OPERATIONS and name not in ("min", "max"):
            self.refuse_not_atomic(base, name, span)
        return None

    def call_atomic(self, array: Array, name: str, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """`h.add(i, v)` and its kin: the value before it; of `store` nothing."""
        operator = OPERATIONS[name]
        values = _VALUES.get(operator, ("value",))
        order = self.memory_order(operator, name, keywords, span)
        if len(arguments) != 1 + len(values):
            usage = ", ".join(("i", *values))
            fix = f"write `{array.name}.{name}({usage})`; a place of several dimensions is a tuple: `(i, j)`"
            last = arguments[-1] if arguments else None
            if isinstance(last, Python) and isinstance(last.object, str) and last.object in _ALL_ORDERS:
                fix = f'give the order by name: `order="{last.object}"`'
            self.refuse(
                "L0417",
                f"`{name}` takes a place and {counted(len(values), 'value')}, not {counted(len(arguments), 'argument')}",
                span,
                f"{counted(len(arguments), 'argument')} given",
                fix=fix,
            )
        place, *given = arguments
        indices = self.atomic_place(array, name, place, span)
        element = array.value.array.element
        assert isinstance(element, ScalarType)
        converted = [self.convert(value, element, span, f"given to `{array.name}.{name}`") for value in given]
        expected = converted.pop(0) if operator == "compare_exchange" else None
        result = self.atomic(array, name, indices, converted[0] if converted else None, expected, order, span)
        return Python(None) if operator == "store" else Scalar(result)

    def atomic(
        self,
        array: Array,
        name: str,
        indices: tuple[Value, ...],
        value: Value | None,
        expected: Value | None,
        order: MemoryOrder,
        span: Span,
    ) -> Value:
        """Emit an operation."""
        operator, element = OPERATIONS[name], array.value.array.element
        assert isinstance(element, ScalarType)
        if self.level == "block":
            self.refuse_at_block_level(f"an atomic operation on `{array.name}`", span)
        if operator in ("and", "or", "xor") and not element.is_integer:
            self.refuse(
                "L0417",
                f"`{name}` of `{element}`",
                span,
                f"`{array.name}` holds `{element}`, and bit operations are of integers",
                fix=f"lend its bits: `{array.base.name}.view(np.int{element.bits})` as `Atomic[i{element.bits}, ...]`",
            )
        if name == "sub":
            assert value is not None
            value = self.unary("neg", value, span)
        result = self.new_value(element, span)
        site = self.bounds_site(array, "read" if operator == "load" else "write", span)
        self.emit(typed.Atomic(span, result, operator, array.value, indices, value, expected, order, site))
        return result

    def atomic_augmented(self, array: Array, place: tuple[Value, ...], statement: syntax.AugAssign) -> None:
        """`h[i] += v`."""
        name = _AUGMENTED.get(statement.op)
        if name is None:
            self.refuse(
                "L0417",
                f"`{statement.op}=` on an element of `{array.name}`, which is `Atomic`",
                statement.span,
                "no atomic operation does this",
                fix=f"read it with `{array.name}.load`, and try `{array.name}.compare_exchange` until it succeeds",
            )
        element = array.value.array.element
        assert isinstance(element, ScalarType)
        value = self.convert(self.settle(self.check(statement.value)), element, statement.span, f"added to `{array.name}`")
        self.atomic(array, name, place, value, None, "relaxed", statement.span)

    def atomic_place(self, array: Array, name: str, place: Entity, span: Span) -> tuple[Value, ...]:
        """The indices that the first argument of an operation gives."""
        items = place.items if isinstance(place, TupleOf) else (place,)
        if len(items) != len(array.shape):
            usage, given = ", ".join("ijklmn"[: len(array.shape)]), counted(len(items), "index", "indices")
            self.refuse(
                "L0211",
                f"{given} for `{array.name}`, which has {counted(len(array.shape), 'dimension')}",
                self.where(place, span),
                given,
                fix=f"write `{array.name}.{name}({f'({usage})' if len(array.shape) > 1 else usage}, ...)`",
            )
        return tuple(self.index_entity(array, k, item, self.where(item, span)) for k, item in enumerate(items))

    def memory_order(self, operator: AtomicOperator, name: str, keywords: dict[str, Entity], span: Span) -> MemoryOrder:
        """What `order=` says."""
        others = [keyword for keyword in keywords if keyword != "order"]
        if others:
            self.refuse("L0417", f"`{name}` has no argument `{others[0]}`", span, "by name it has `order` alone")
        allowed = _ORDERS.get(operator, _ALL_ORDERS)
        given = keywords.get("order")
        if given is None:
            return "relaxed"
        text: Any = given.object if isinstance(given, Python) else None
        for order in allowed:
            if isinstance(text, str) and text == order:
                return order
        said = f'`"{text}"`' if isinstance(text, str) else self.describe(given)
        quoted = [f'`"{order}"`' for order in allowed]
        self.refuse(
            "L0417",
            f"`{name}` cannot have the memory order {said}",
            self.where(given, span),
            "this order",
            fix=f"write one of {', '.join(quoted)}",
        )

    def refuse_not_atomic(self, array: Array, name: str, span: Span) -> NoReturn:
        """`x.add(i, v)` of another array."""
        borrow = array.value.array.borrow
        self.refuse(
            "L0417",
            f"`{name}` is an operation of `Atomic` arrays, and `{array.name}` is none",
            span,
            f"`{array.name}` is a `{borrow.value}`" if borrow is not Borrow.OWNED else "an array of the kernel's own",
            fix=self.atomic_advice(array),
        )

    def atomic_advice(self, array: Array) -> str:
        """How to make an array `Atomic`."""
        if array.value.array.borrow is Borrow.OWNED:
            return "make it `lend.shared(Atomic[i32], ...)`, or lend an array as `Atomic`"
        return self.borrow_advice(array).replace("`Mut`", "`Atomic`").replace(": Mut[", ": Atomic[")

    # ----------------------------------------------------------------------------------------------------- plain accesses

    def refuse_plain_read(self, array: Array, expression: syntax.Subscript) -> NoReturn:
        """`h[i]` where a value is needed."""
        self.refuse(
            "L0416",
            f"a plain read of `{array.name}`, which is `Atomic`",
            expression.span,
            "others may change it at any time",
            fix=f"write `{array.name}.load({place_text(expression)})`",
        )

    def refuse_plain_write(self, array: Array, target: syntax.Subscript) -> NoReturn:
        """`h[i] = v`."""
        self.refuse(
            "L0416",
            f"a plain write to `{array.name}`, which is `Atomic`",
            target.span,
            "others may change it at any time",
            fix=f"write `{array.name}.store({place_text(target)}, ...)`, or `{target.span.text} += ...` to add to it",
        )

    def advise_atomic(self, statement: syntax.Assign) -> None:
        """Refuse `h[i] = h[i] + v` of an `Atomic` with the statement that is meant."""
        target = statement.targets[0]
        meant = self.atomic_meant(target, statement.value) if isinstance(target, syntax.Subscript) else None
        if meant is None or not isinstance(target, syntax.Subscript):
            return
        base = self.check(target.value)
        if isinstance(base, Array) and is_atomic(base) and len(target.indices) == len(base.shape):
            self.refuse(
                "L0416",
                f"a plain read and write of `{base.name}`, which is `Atomic`",
                statement.span,
                "others may change it between the two",
                fix=f"write `{meant}`",
            )

    def atomic_meant(self, target: syntax.Subscript, value: syntax.Expr) -> str | None:
        """The atomic operation that `target = value` does in two steps, as it would be written; None if it is none."""
        written = target.span.text
        if isinstance(value, syntax.Binary) and value.op in _AUGMENTED:
            if value.left.span.text == written:
                return f"{written} {value.op}= {value.right.span.text}"
            if value.right.span.text == written and value.op != "-":
                return f"{written} {value.op}= {value.left.span.text}"
        if isinstance(value, syntax.Call) and value.function.span.text in ("min", "max") and len(value.arguments) == 2:
            texts = [argument.span.text for argument in value.arguments]
            if written in texts:
                other = texts[1 - texts.index(written)]
                return f"{target.value.span.text}.{value.function.span.text}({place_text(target)}, {other})"
        return None

    def refuse_at_block_level(self, what: str, span: Span) -> NoReturn:
        """What a block cannot do outside `lend.threads`."""
        self.refuse(
            "L0410",
            f"{what} at block level",
            span,
            "block level has no thread to do it: it computes what all threads of the block share",
            fix="write it inside `for ... in lend.threads(...)`, for one thread: `if t == 0:`",
        )

    def as_atomic(self, array: Array, span: Span) -> Array:
        """An array of the caller's own, as the `Atomic` borrow that a called kernel asks for."""
        type = array.value.array
        if type.borrow is Borrow.ATOMIC:
            return array
        result = self.new_value(array_type(type.element, type.dimensions, Borrow.ATOMIC, type.layout), span, array.name)
        zero, one = self.constant(0, INDEX, span), self.constant(1, INDEX, span)
        parts = tuple(Extent(zero, self.size(array.value, k, span), one) for k in range(type.dimensions))
        self.emit(typed.View(span, result, array.value, parts, self.site("bounds", span, array=array.name, access="write")))
        return Array(result, array.name, array.shape, array.base)


def place_text(expression: syntax.Subscript) -> str:
    """The subscripts of an element as the first argument of an atomic operation."""
    parts = [index.span.text for index in expression.indices]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
