"""Operations of the typed tree without regions as Python expressions.

Does: say which Python expression computes an operation from those of its operands, and collect the helpers it calls.
Does not: order operations or name values (`plain_body.py`).
Invariants: a helper is called by a name with a dot in it, so no variable of the user's can hide it; operands are evaluated from
left to right in the order of `ordered_operands`.

Example: `add` of f64 is `a + b`; of f32 it is `lend.add_f32(a, b)`, which rounds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from lend.diagnostics.errors import InternalError
from lend.diagnostics.sites import Site
from lend.ir import typed
from lend.ir.typed import Extent, Value
from lend.language.arithmetic import binary_function, cast_function, unary_function
from lend.language.libm import math_function
from lend.language.types import BF16, BOOL_, F64, ElementType, ScalarType, StructType, VectorType
from lend.lower.plain_run import Run, storage_dtype

Simple = (
    typed.Unary
    | typed.Binary
    | typed.Math
    | typed.Cast
    | typed.Load
    | typed.Store
    | typed.Size
    | typed.View
    | typed.Reshape
    | typed.Allocate
    | typed.Local
    | typed.Shared
    | typed.Atomic
    | typed.Distinct
    | typed.Require
)

COMPARISONS: dict[str, type[ast.cmpop]] = {
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
}
EXACT: dict[str, type[ast.operator]] = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult}
BITWISE: dict[str, type[ast.operator]] = {"and": ast.BitAnd, "or": ast.BitOr, "xor": ast.BitXor}


def literal(value: Any) -> ast.expr:
    """A constant."""
    return ast.Constant(value)


def call(helper: str, arguments: Sequence[ast.expr]) -> ast.Call:
    """A call of a helper."""
    return ast.Call(ast.Name(f"lend.{helper}", ast.Load()), list(arguments), [])


def tuple_of(items: Sequence[ast.expr]) -> ast.Tuple:
    """A tuple."""
    return ast.Tuple(list(items), ast.Load())


def ordered_operands(operation: Simple) -> tuple[Value, ...]:
    """The operands in the order in which the expression evaluates them."""
    if isinstance(operation, typed.Store):
        return (operation.value, operation.array, *operation.indices)
    if isinstance(operation, typed.Atomic):
        values = (value for value in (operation.expected, operation.value) if value is not None)
        return (operation.array, *operation.indices, *values)
    return operation.operands


def may_fail(operation: Simple) -> bool:
    """Whether an operation has an effect, reads memory or can raise: such operations keep their order."""
    return not isinstance(operation, typed.Unary | typed.Math | typed.Cast | typed.Size) and not (
        isinstance(operation, typed.Binary) and operation.site is None
    )


class Expressions:
    """Builds expressions for one kernel; `helpers` and `run_helpers` are what they call, `sites` the kernel's and some more."""

    def __init__(self, kernel: typed.Kernel) -> None:
        self.sites: list[Site] = list(kernel.sites)
        self.meetings: list[typed.Sync | typed.Subgroup] = []  # where threads of a block wait for each other
        self.helpers: dict[str, Any] = {"lend.range": range, "lend.abs": abs}
        self.run_helpers: dict[str, Callable[[Run], Any]] = {}
        for name in ("load", "load_1d", "load_bf16", "store", "store_bf16", "view", "reshape", "allocate", "local"):
            self.method(name)
        self.method("distinct")
        self.method("require")
        self.method("grid")
        self.method("threads")
        self.method("range", "checked_range")

    def method(self, name: str, helper: str | None = None) -> None:
        """Make a method of `Run` a helper."""
        self.run_helpers[f"lend.{helper or name}"] = lambda run: getattr(run, name)

    def helper(self, name: str, function: Any, arguments: Sequence[ast.expr]) -> ast.expr:
        """A call of a helper that is `function`."""
        self.helpers.setdefault(f"lend.{name}", function)
        return call(name, arguments)

    def simple(self, operation: Simple, operands: list[ast.expr]) -> ast.expr:
        """The expression of an operation, given those of `ordered_operands`."""
        match operation:
            case typed.Unary():
                return self.unary(operation, operands[0])
            case typed.Binary():
                return self.binary(operation, operands)
            case typed.Math():
                types = tuple(argument.scalar for argument in operation.arguments)
                return self.helper(f"{operation.function}_{types[0]}", math_function(operation.function, types), operands)
            case typed.Cast():
                return self.cast(operation.operand.scalar, operation.result.scalar, operands[0])
            case typed.Size():
                shape = ast.Attribute(operands[0], "shape", ast.Load())
                return ast.Subscript(shape, literal(operation.dimension), ast.Load())
            case typed.Load() | typed.Store():
                return self.access(operation, operands)
            case typed.View():
                return self.view(operation, operands)
            case typed.Reshape():
                sites = [literal(operation.shape_site), literal(operation.view_site)]
                return call("reshape", [operands[0], *sites, *operands[1:]])
            case typed.Allocate():
                dtype = self.dtype(operation.result.array.element)
                sites = [literal(operation.extent_site), literal(operation.memory_site)]
                return call("allocate", [dtype, *sites, *operands])
            case typed.Local() | typed.Shared():
                return call("local", [self.dtype(operation.result.array.element), *map(literal, operation.sizes)])
            case typed.Atomic():
                return self.atomic(operation, operands)
            case typed.Distinct():
                return call("distinct", operands)
            case typed.Require():
                return call("require", [operands[0], literal(operation.site), *operands[1:]])

    # --------------------------------------------------------------------------------------------- arithmetic

    def unary(self, operation: typed.Unary, operand: ast.expr) -> ast.expr:
        operator, type = operation.operator, operation.operand.scalar
        if operator == "not":
            return ast.UnaryOp(ast.Not(), operand)
        if type.kind == "float":
            return ast.UnaryOp(ast.USub(), operand) if operator == "neg" else call("abs", [operand])
        return self.helper(f"{operator}_{type}", unary_function(operator, type), [operand])

    def binary(self, operation: typed.Binary, operands: list[ast.expr]) -> ast.expr:
        operator, type = operation.operator, operation.left.scalar
        left, right = operands
        if operator in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[operator]()], [right])
        if type is F64 and operator in EXACT:
            return ast.BinOp(left, EXACT[operator](), right)
        if operator in BITWISE:
            return ast.BinOp(left, BITWISE[operator](), right)
        if operation.site is None:
            return self.helper(f"{operator}_{type}", binary_function(operator, type), operands)
        name = f"checked_{operator}_{type}"
        self.run_helpers.setdefault(f"lend.{name}", lambda run: run.checked(operator, type))
        return call(name, [*operands, literal(operation.site)])

    def cast(self, source: ScalarType, target: ScalarType, operand: ast.expr) -> ast.expr:
        """A conversion; nothing at all where the Python value stays what it is."""
        if source is target or (source.is_float and target is F64):
            return operand
        if source.is_integer and target.is_integer and source.minimum >= target.minimum and source.maximum <= target.maximum:
            return operand
        if target is BOOL_:
            return ast.Compare(operand, [ast.NotEq()], [literal(0)])
        return self.helper(target.name, cast_function(target), [operand])

    # ------------------------------------------------------------------------------------------------- arrays

    def access(self, operation: typed.Load | typed.Store, operands: list[ast.expr]) -> ast.expr:
        """A load or a store of an element or of a field of it."""
        loads = isinstance(operation, typed.Load)
        before = 0 if loads else 1
        array, element = operands[before], operation.array.array.element
        for position in operation.path:
            assert isinstance(element, StructType)
            within: ast.expr = literal(element.fields[position][0])
            if isinstance(element, VectorType):  # a field's last dimension in NumPy
                within = ast.Tuple([ast.Constant(...), literal(position)], ast.Load())
            element = element.fields[position][1]
            array = ast.Subscript(array, within, ast.Load())
        site = literal(self.access_site(operation))
        helper = "load" if loads else "store"
        if element is BF16:
            helper += "_bf16"
        elif loads and len(operation.indices) == 1:
            helper += "_1d"
        return call(helper, [*operands[:before], array, site, *operands[before + 1 :]])

    def atomic(self, operation: typed.Atomic, operands: list[ast.expr]) -> ast.expr:
        """An atomic operation; threads run one at a time here, so it is a plain one."""
        type = operation.result.scalar
        name = f"atomic_{operation.operator}_{type}"
        self.run_helpers.setdefault(f"lend.{name}", lambda run: run.atomic(operation.operator, type))
        return call(name, [operands[0], literal(self.access_site(operation)), *operands[1:]])

    def access_site(self, operation: typed.Load | typed.Store | typed.View | typed.Atomic) -> int:
        """The site of an access. Those inside `lend.unchecked` have none in the tree: here they are tested all the same."""
        if operation.site is not None:
            return operation.site
        access = "write" if isinstance(operation, typed.Store | typed.Atomic) else "read"
        self.sites.append(Site("bounds", operation.span, operation.array.name, access))
        return len(self.sites) - 1

    def view(self, operation: typed.View, operands: list[ast.expr]) -> ast.expr:
        parts: list[ast.expr] = []
        position = 1
        for part in operation.parts:
            width = 3 if isinstance(part, Extent) else 1
            chosen = operands[position : position + width]
            parts.append(tuple_of(chosen) if width == 3 else chosen[0])
            position += width
        return call("view", [operands[0], literal(self.access_site(operation)), *parts])

    def dtype(self, element: ElementType) -> ast.expr:
        """The NumPy dtype of a new array, as a name."""
        name = f"lend.dtype.{element}"
        known = self.helpers.setdefault(name, storage_dtype(element))
        if known != storage_dtype(element):  # another struct of the same name
            name = f"{name}.{id(element)}"
            self.helpers[name] = storage_dtype(element)
        return ast.Name(name, ast.Load())

    def reduction(self, reduction: typed.Reduction, make: Callable[..., Any], inits: list[ast.expr]) -> ast.expr:
        """The accumulator of a reduction."""
        types = tuple(init.scalar for init in reduction.inits)
        name = f"reduce_{reduction.operator}_{'_'.join(type.name for type in types)}"
        return self.helper(name, make(reduction.operator, types), [tuple_of(inits)])


def is_literal(node: ast.expr, value: int) -> bool:
    """Whether an expression is an integer constant."""
    return isinstance(node, ast.Constant) and node.value.__class__ is int and node.value == value


def range_of(lower: ast.expr, upper: ast.expr, step: ast.expr, site: int | None) -> ast.expr:
    """`range(…)` as short as it can be written."""
    if site is not None:
        return call("checked_range", [literal(site), lower, upper, step])
    if not is_literal(step, 1):
        return call("range", [lower, upper, step])
    return call("range", [upper] if is_literal(lower, 0) else [lower, upper])


def unknown(operation: typed.Operation) -> InternalError:
    """The error for an operation that has no Python."""
    return InternalError(f"no Python for {type(operation).__name__}", operation.span)
