"""Words of parallel loops: `lend.local`, and of the team level `lend.shared`, `lend.sync`, `lend.subgroup`.

Does: type them and the operations of sub-groups, refuse them where they cannot stand.  Does not: decide which barriers all
threads meet (a check does, on the typed tree).
Invariants: shared arrays stand at block level; barriers and sub-group operations inside `lend.threads`.
"""

from __future__ import annotations

from typing import Any, get_args

from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted, similar
from lend.frontend.typecheck.atomics import Atomics
from lend.frontend.typecheck.entities import Array, Entity, Number, Python, Scalar, Subgroups
from lend.ir import syntax, typed
from lend.ir.typed import SubgroupOperator, Value
from lend.language.borrows import BorrowAnnotation
from lend.language.types import ATOMIC_ELEMENTS, BOOL_, I32, INDEX, U64, Borrow, Layout, ScalarType, VectorType, array_type

MAX_SUBGROUP = 64
_OPERATORS: dict[str, SubgroupOperator] = {name: name for name in get_args(SubgroupOperator)}
_SHUFFLES = {"shuffle": "lane", "shuffle_xor": "mask", "shuffle_up": "distance", "shuffle_down": "distance"}


class TeamWords(Atomics):
    """Typing of the words of the team level."""

    # ------------------------------------------------------------------------------------------- private and shared arrays

    def local(self, arguments: list[Entity], span: Span) -> Array:
        """`lend.local(f32, 4)`."""
        if self.level == "block":
            self.refuse(
                "L0410",
                "`lend.local` at block level",
                span,
                "a private array is a thread's own",
                fix="make it inside `lend.threads`, or share one between the threads: `lend.shared(...)`",
            )
        element, sizes, vector = self.element_and_sizes("local", arguments, span)
        constant = self.constant_sizes("local", sizes, span, vector)
        result = self.new_value(array_type(element, len(constant), Borrow.OWNED, Layout.C), span)
        self.emit(typed.Local(span, result, tuple(constant)))
        return Array(result, "lend.local(...)", tuple(Number(n, None) for n in constant), result, vector=vector)

    def constant_sizes(self, name: str, sizes: list[Entity], span: Span, vector: VectorType | None) -> tuple[int, ...]:
        """The sizes of an array (of vectors) whose size the code is compiled for."""
        constant: list[int] = []
        for size in sizes:
            if not isinstance(size, Number):
                self.refuse(
                    "L0217",
                    f"the sizes of `lend.{name}` must be known when the kernel is compiled",
                    self.where(size, span),
                    "known at run time only",
                    fix="make it a `comptime[int]` parameter, or use `lend.empty` before the loop"
                    if name == "local"
                    else "make it a `comptime[int]` parameter",
                )
            if not isinstance(size.value, int) or size.value < 0:
                self.refuse(
                    "L0217", f"a size is an integer of 0 or more, not `{size.value}`", self.where(size, span), "this size"
                )
            constant.append(int(size.value))
        self.sizes(sizes, span, f"lend.{name}", vector)
        return (*constant, vector.length) if vector is not None else tuple(constant)

    def shared(self, arguments: list[Entity], span: Span) -> Array:
        """`lend.shared(f32, 16, 16)`, `lend.shared(Atomic[i32], 64)`."""
        if self.level != "block":
            self.refuse_shared(span)
        first = arguments[0] if arguments else None
        annotation: Any = first.object if isinstance(first, Python) else None
        borrow = Borrow.OWNED
        if isinstance(annotation, BorrowAnnotation):
            borrow = Borrow.ATOMIC
            self.atomic_annotation(annotation, span)
            arguments = [Python(annotation.element), *arguments[1:]]
        element, sizes, vector = self.element_and_sizes("shared", arguments, span)
        constant = self.constant_sizes("shared", sizes, span, vector)
        result = self.new_value(array_type(element, len(constant), borrow, Layout.C), span)
        self.emit(typed.Shared(span, result, constant))
        return Array(result, "lend.shared(...)", tuple(Number(n, None) for n in constant), result, vector=vector)

    def atomic_of(self, expression: syntax.Subscript) -> Entity:
        """`Atomic[i32]`, for `lend.shared`."""
        index = expression.indices[0]
        element = None if isinstance(index, syntax.Slice) else self.check(index)
        type = element.object if isinstance(element, Python) else None
        if len(expression.indices) > 1 or not isinstance(type, ScalarType):
            self.refuse(
                "L0217",
                f"inside a kernel `Atomic` is of an element type alone, not `{expression.span.text}`",
                expression.span,
                "not one element type",
                fix="write the sizes after it: `lend.shared(Atomic[i32], 64)`",
            )
        return Python(BorrowAnnotation(Borrow.ATOMIC, type, ()))

    def atomic_annotation(self, annotation: BorrowAnnotation, span: Span) -> None:
        """Refuse `Atomic` of what has no atomic operations."""
        if annotation.element not in ATOMIC_ELEMENTS:
            self.refuse(
                "L0418",
                f"`{annotation!r}`: there are no atomic operations on this element type",
                span,
                "in this call",
                fix="write `Atomic` of i32, i64, u32, u64, f32 or f64",
            )

    def refuse_shared(self, span: Span) -> None:
        """`lend.shared` outside block level."""
        if self.level == "thread":
            self.refuse(
                "L0412",
                "`lend.shared` inside `lend.threads`",
                span,
                "one array for the block, not one for each thread",
                fix="make it before this loop, inside `lend.blocks`; a private array is `lend.local(f32, 4)`",
            )
        fix = "write `lend.zeros(f64, n)`" if self.level == "host" else "write `lend.local(f32, 4)` for a private array"
        self.refuse(
            "L0412",
            "`lend.shared` outside a block",
            span,
            "the threads of a block share it, and there is no block here",
            fix=f"{fix}, or put this inside `for b in lend.blocks(n):`",
        )

    # ---------------------------------------------------------------------------------------------------------- barriers

    def sync(self, arguments: list[Entity], span: Span) -> Entity:
        """`lend.sync()`."""
        self.count(arguments, (0,), "lend.sync", span)
        if self.level == "block":
            self.refuse(
                "L0413",
                "`lend.sync` at block level",
                span,
                "two `lend.threads` loops have a barrier between them as they are",
                fix="remove it",
            )
        if self.level != "thread":
            fix = "remove it: the second of two parallel loops sees what the first has written"
            if self.level == "grid":
                fix = "write two `lend.grid` loops, or `lend.blocks` with `lend.threads`"
            self.refuse("L0413", "`lend.sync` outside `lend.threads`", span, "a barrier of the threads of a block", fix=fix)
        self.emit(typed.Sync(span))
        return Python(None)

    def count(self, arguments: list[Entity], allowed: tuple[int, ...], name: str, span: Span) -> None:
        """Refuse a wrong number of arguments (defined in `known_functions.py`)."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------------- sub-groups

    def subgroup(self, arguments: list[Entity], span: Span) -> Subgroups:
        """`lend.subgroup(32)`."""
        self.count(arguments, (1,), "lend.subgroup", span)
        self.in_threads("`lend.subgroup`", span)
        size = arguments[0]
        if not isinstance(size, Number):
            self.refuse(
                "L0212",
                "the size of a sub-group must be known when the kernel is compiled",
                self.where(size, span),
                "known at run time only",
                fix="make it a `comptime[int]` parameter",
            )
        count = 1
        for n in self.team.sizes:
            count *= n
        value = size.value
        power = isinstance(value, int) and 1 <= value <= MAX_SUBGROUP and value & (value - 1) == 0
        if not power or count % value:
            largest = next(n for n in (64, 32, 16, 8, 4, 2, 1) if count % n == 0)
            why = f"a power of two up to {MAX_SUBGROUP} is needed" if not power else f"the block has {counted(count, 'thread')}"
            self.refuse(
                "L0414",
                f"sub-groups of {value} threads in a block of {count}",
                self.where(size, span),
                why,
                fix=f"write a size that divides the number of threads, such as {largest}",
            )
        return Subgroups(int(value))

    def in_threads(self, what: str, span: Span) -> None:
        """Refuse what only threads of a block can do."""
        if self.level != "thread":
            self.refuse(
                "L0414",
                f"{what} outside `lend.threads`",
                span,
                "a sub-group is of the threads of a block",
                fix="write it inside `for ... in lend.threads(...)`",
            )

    def subgroup_attribute(self, group: Subgroups, name: str, span: Span) -> Entity | None:
        """`sg.lane`, `sg.size`; None for the name of an operation."""
        if name == "size":
            return Number(group.size, None)
        if name == "lane":
            return Scalar(self.lane(group, span))
        if name in _OPERATORS:
            return None
        near = similar(name, ("lane", "size", *_OPERATORS))
        self.refuse(
            "L0215",
            f"sub-groups have no attribute `{name}`",
            span,
            "they have `lane`, `size`, `shuffle`, `ballot`, `reduce_add`, `scan_add`, `sync` and their kin",
            fix=f"did you mean `{near}`?" if near else None,
        )

    def lane(self, group: Subgroups, span: Span) -> Value:
        """This thread's place in its sub-group: its row-major place in the block, modulo the size."""
        self.in_threads("`lane`", span)
        place: Value | None = None
        for index, size in zip(self.team.indices, self.team.sizes, strict=True):
            if place is None:
                place = index
            else:
                scaled = self.binary("mul", place, self.constant(size, INDEX, span), span)
                place = self.binary("add", scaled, index, span)
        assert place is not None
        rest = self.binary("mod", place, self.constant(group.size, INDEX, span), span)
        return self.cast_value(rest, I32, span)

    def call_subgroup(self, group: Subgroups, name: str, arguments: list[Entity], span: Span) -> Entity:
        """`sg.shuffle(v, lane)` and its kin."""
        operator = _OPERATORS[name]
        self.in_threads(f"`{name}`", span)
        values = 0 if name == "sync" else 2 if name in _SHUFFLES else 1
        self.count(arguments, (values,), name, span)
        if name == "sync":
            self.emit(typed.Subgroup(span, (), operator, group.size, None, None))
            return Python(None)
        value = self.subgroup_value(name, arguments[0], span)
        lane = None
        if name in _SHUFFLES:
            lane = self.convert(arguments[1], I32, span, f"the {_SHUFFLES[name]} of `{name}`")
        result = self.new_value(U64 if name == "ballot" else value.type, span)
        self.emit(typed.Subgroup(span, (result,), operator, group.size, value, lane))
        return Scalar(result)

    def subgroup_value(self, name: str, entity: Entity, span: Span) -> Value:
        """The value that each thread gives."""
        number = self.number(entity, span, f"the value of `{name}`")
        if name == "ballot":
            return self.materialise(self.truth(number, span), span)
        value = self.materialise(number, span)
        type = value.scalar
        operator = name.partition("_")[2] if name not in _SHUFFLES else ""
        known = type.kind != "complex"
        if operator in ("and", "or", "xor"):
            known = type.is_integer or type is BOOL_
        elif operator:
            known = known and type is not BOOL_
        if not known:
            fix = "give `i32(...)` of it" if type is BOOL_ else None
            if type.kind == "complex":
                fix = "do it for its `.real` and `.imag`"
            self.refuse("L0415", f"`{name}` of {self.describe(number)}", self.where(number, span), "not a value for it", fix=fix)
        return value
