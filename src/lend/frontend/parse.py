"""Python's `ast` to the untyped tree.

Does: convert a captured function, and refuse by name every construct that kernels do not have.  Does not: know names, types or
levels.
Invariants: nothing else reads `ast`, but for `locate.py`, which finds the function; one pass finds all refusals of a function;
what cannot be converted becomes the literal None or a Pass in the tree, and such a tree always comes with a diagnostic.

Example: `function, refused = parse_function(capture(f))`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.spans import Span
from lend.frontend import refusals
from lend.frontend.capture import Captured
from lend.frontend.places import Places
from lend.frontend.refusals import Refusal
from lend.ir import syntax

MAX_DEPTH = 150
"""How deep expressions and statements may nest, so that no step of the compiler runs out of Python's stack."""

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def parse_function(captured: Captured) -> tuple[syntax.Function, list[Diagnostic]]:
    """The untyped tree of a captured function or lambda, and everything in it that kernels do not have, in source order."""
    parser = _Parser(Places(captured.source))
    node = captured.node
    try:
        function = parser.lambda_function(node) if isinstance(node, ast.Lambda) else parser.function(node, nested=False)
    except RecursionError:  # the caller's own stack was nearly used up
        span = parser.places.span(node)
        return syntax.Function(span, captured.name, (), (), None), [refusals.too_deep(span)]
    return function, sorted(parser.refused, key=lambda d: (d.primary.span.line, d.primary.span.column))


class _Parser:
    """One function's conversion: the spans of its file and the refusals so far."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.refused: list[Diagnostic] = []
        self.depth = 0
        self.too_deep = False  # whether the outermost statement in hand was refused for its depth

    def refuse(self, refusal: Refusal, span: Span) -> None:
        """Note that the construct at `span` is refused."""
        self.refused.append(refusal.at(span))

    def _enter(self, span: Span) -> bool:
        """Go one level down; False where that is too deep, with one refusal for each outermost statement."""
        self.depth += 1
        if self.depth == 1:
            self.too_deep = False
        if self.depth > MAX_DEPTH and not self.too_deep:
            self.too_deep = True
            self.refused.append(refusals.too_deep(span))
        return self.depth <= MAX_DEPTH

    # -------------------------------------------------------------------------------------------- functions

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, *, nested: bool) -> syntax.Function:
        """A `def` with its body."""
        header = self.places.header(node)
        if isinstance(node, ast.AsyncFunctionDef):
            self.refuse(refusals.ASYNC_FUNCTION, self.places.keyword(node, "async"))
        if nested:
            for decorator in node.decorator_list:
                self.refuse(refusals.DECORATOR, self.places.span(decorator))
        returns = self.places.span(node.returns) if node.returns is not None else None
        return syntax.Function(header, node.name, self.parameters(node.args), self.block(node.body), returns)

    def lambda_function(self, node: ast.Lambda) -> syntax.Function:
        """A lambda: its body is one Return."""
        body = syntax.Return(self.places.span(node.body), self.expression(node.body))
        return syntax.Function(self.places.span(node), "<lambda>", self.parameters(node.args), (body,), None)

    def parameters(self, arguments: ast.arguments) -> tuple[syntax.Parameter, ...]:
        """The parameters in order; `/` makes no difference, `*` makes those after it keyword-only."""
        if arguments.vararg is not None:
            self.refuse(refusals.VARARGS, self.places.span(arguments.vararg))
        if arguments.kwarg is not None:
            self.refuse(refusals.KWARGS, self.places.span(arguments.kwarg))
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
        pairs = [(a, d, False) for a, d in zip(positional, defaults, strict=True)]
        pairs += [(a, d, True) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        return tuple(self._parameter(argument, default, keyword_only) for argument, default, keyword_only in pairs)

    def _parameter(self, argument: ast.arg, default: ast.expr | None, keyword_only: bool) -> syntax.Parameter:
        return syntax.Parameter(
            span=self.places.name_of(argument),
            name=argument.arg,
            annotation=self._simple(argument.annotation),
            default=self._simple(default),
            keyword_only=keyword_only,
            annotation_span=self.places.span(argument.annotation) if argument.annotation is not None else None,
        )

    def _simple(self, node: ast.expr | None) -> syntax.Expr | None:
        """An annotation or a default, which Python evaluates: None where kernels do not have such an expression."""
        if node is None:
            return None
        before = len(self.refused)
        converted = self.expression(node)
        if len(self.refused) == before:
            return converted
        del self.refused[before:]
        return None

    # -------------------------------------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        """The statements of a body."""
        return tuple(self.statement(node) for node in body)

    def statement(self, node: ast.stmt) -> syntax.Stmt:
        """One statement."""
        convert = _STATEMENTS.get(type(node))
        span = self.places.statement(node)
        if convert is None:
            self._refuse_statement(node, span)
            return syntax.Pass(span)
        result = convert(self, node, span) if self._enter(span) else syntax.Pass(span)
        self.depth -= 1
        return result

    def _refuse_statement(self, node: ast.stmt, span: Span) -> None:
        """Refuse a statement that kernels do not have, and whatever is wrong in the bodies it holds."""
        refusal = _REFUSED_STATEMENTS.get(type(node).__name__, refusals.UNKNOWN)
        self.refuse(refusal, span)
        if isinstance(node, ast.ClassDef):
            return
        inside: list[ast.stmt] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                inside.append(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                inside += child.body
        self.block(inside)

    def assign(self, node: ast.Assign, span: Span) -> syntax.Stmt:
        return syntax.Assign(span, tuple(self.target(target) for target in node.targets), self.expression(node.value))

    def augmented_assign(self, node: ast.AugAssign, span: Span) -> syntax.Stmt:
        return syntax.AugAssign(span, self.target(node.target), _BINARY[type(node.op)], self.expression(node.value))

    def annotated_assign(self, node: ast.AnnAssign, span: Span) -> syntax.Stmt:
        value = self.expression(node.value) if node.value is not None else None
        target = self.target(node.target)
        if not isinstance(target, syntax.Name):
            self.refuse(refusals.ANNOTATED_TARGET, target.span)
            return syntax.Pass(span)
        return syntax.AnnAssign(span, target, self.expression(node.annotation), value)

    def for_loop(self, node: ast.For, span: Span) -> syntax.Stmt:
        if node.orelse:
            self.refuse(refusals.LOOP_ELSE, span)
        target, iterable = self.target(node.target), self.expression(node.iter)
        body = self.block(node.body)
        self.block(node.orelse)
        return syntax.For(span, target, iterable, body)

    def while_loop(self, node: ast.While, span: Span) -> syntax.Stmt:
        if node.orelse:
            self.refuse(refusals.LOOP_ELSE, span)
        test = self.expression(node.test)
        body = self.block(node.body)
        self.block(node.orelse)
        return syntax.While(span, test, body)

    def if_statement(self, node: ast.If, span: Span) -> syntax.Stmt:
        return syntax.If(span, self.expression(node.test), self.block(node.body), self.block(node.orelse))

    def return_statement(self, node: ast.Return, span: Span) -> syntax.Stmt:
        return syntax.Return(span, self.expression(node.value) if node.value is not None else None)

    def expression_statement(self, node: ast.Expr, span: Span) -> syntax.Stmt:
        if isinstance(node.value, ast.Constant) and (isinstance(node.value.value, str) or node.value.value is ...):
            return syntax.Pass(span)
        return syntax.ExprStmt(span, self.expression(node.value))

    def assertion(self, node: ast.Assert, span: Span) -> syntax.Stmt:
        message = node.msg.value if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str) else None
        return syntax.Assert(span, self.expression(node.test), message)

    def with_statement(self, node: ast.With, span: Span) -> syntax.Stmt:
        contexts: list[syntax.Expr] = []
        for item in node.items:
            contexts.append(self.expression(item.context_expr))
            if item.optional_vars is not None:
                self.refuse(refusals.WITH_AS, self.places.span(item.optional_vars))
        result = syntax.With(span, contexts[-1], self.block(node.body))
        for context in reversed(contexts[:-1]):  # `with a, b:` is `with a:` around `with b:`
            result = syntax.With(span, context, (result,))
        return result

    def function_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef, span: Span) -> syntax.Stmt:
        return syntax.FunctionDef(span, self.function(node, nested=True))

    # -------------------------------------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> syntax.Expr:
        """One expression; the literal None, with a refusal, where kernels do not have it."""
        span = self.places.span(node)
        convert = _EXPRESSIONS.get(type(node))
        if convert is None:
            self.refuse(_REFUSED_EXPRESSIONS.get(type(node).__name__, refusals.UNKNOWN), span)
            return syntax.Literal(span, None)
        result = convert(self, node, span) if self._enter(span) else syntax.Literal(span, None)
        self.depth -= 1
        return result

    def target(self, node: ast.expr) -> syntax.Expr:
        """What is assigned to: as an expression, but lists and starred names are read as targets."""
        span = self.places.span(node)
        if isinstance(node, ast.Tuple | ast.List):
            items = tuple(self.target(item) for item in node.elts) if self._enter(span) else ()
            self.depth -= 1
            return syntax.Tuple(span, items)
        if isinstance(node, ast.Starred):
            self.refuse(refusals.STARRED_TARGET, span)
            return syntax.Literal(span, None)
        return self.expression(node)

    def name(self, node: ast.Name, span: Span) -> syntax.Expr:
        return syntax.Name(span, node.id)

    def constant(self, node: ast.Constant, span: Span) -> syntax.Expr:
        value = node.value
        if value is ...:
            self.refuse(refusals.ELLIPSIS, span)
        elif isinstance(value, bytes):
            self.refuse(refusals.BYTES, span)
        else:
            return syntax.Literal(span, value)
        return syntax.Literal(span, None)

    def unary(self, node: ast.UnaryOp, span: Span) -> syntax.Expr:
        return syntax.Unary(span, _UNARY[type(node.op)], self.expression(node.operand))

    def binary(self, node: ast.BinOp, span: Span) -> syntax.Expr:
        """`a + b + c …` is as deep as its longest term: long sums are common in code that programs write."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        found = self.expression(chain[-1].left)
        for inner in reversed(chain):
            place = span if inner is node else self.places.span(inner)
            found = syntax.Binary(place, _BINARY[type(inner.op)], found, self.expression(inner.right))
        return found

    def bool_op(self, node: ast.BoolOp, span: Span) -> syntax.Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return syntax.BoolOp(span, op, tuple(self.expression(value) for value in node.values))

    def compare(self, node: ast.Compare, span: Span) -> syntax.Expr:
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            first = next(op for op in node.ops if isinstance(op, ast.In | ast.NotIn))
            self.refuse(refusals.IN if isinstance(first, ast.In) else refusals.NOT_IN, span)
            self.expression(node.left)  # the right side is a list or a set as a rule: the same mistake
            return syntax.Literal(span, None)
        ops = tuple(_COMPARE[type(op)] for op in node.ops)
        return syntax.Compare(span, self.expression(node.left), ops, tuple(self.expression(right) for right in node.comparators))

    def conditional(self, node: ast.IfExp, span: Span) -> syntax.Expr:
        return syntax.Conditional(span, self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def call(self, node: ast.Call, span: Span) -> syntax.Expr:
        function = self.expression(node.func)
        arguments = tuple(self.expression(argument) for argument in node.args)
        keywords: list[tuple[str, syntax.Expr]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(refusals.DOUBLE_STARRED, self.places.span(keyword))
            else:
                keywords.append((keyword.arg, self.expression(keyword.value)))
        return syntax.Call(span, function, arguments, tuple(keywords))

    def attribute(self, node: ast.Attribute, span: Span) -> syntax.Expr:
        return syntax.Attribute(span, self.expression(node.value), node.attr)

    def subscript(self, node: ast.Subscript, span: Span) -> syntax.Expr:
        value = self.expression(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return syntax.Subscript(span, value, tuple(self._index(part) for part in parts))

    def _index(self, node: ast.expr) -> syntax.Expr | syntax.Slice:
        span = self.places.span(node)
        if isinstance(node, ast.Slice):
            lower, upper, step = (self.expression(p) if p is not None else None for p in (node.lower, node.upper, node.step))
            return syntax.Slice(span, lower, upper, step)
        if isinstance(node, ast.Constant) and node.value is ...:
            self.refuse(refusals.ELLIPSIS_SUBSCRIPT, span)
            return syntax.Literal(span, None)
        return self.expression(node)

    def tuple_display(self, node: ast.Tuple, span: Span) -> syntax.Expr:
        return syntax.Tuple(span, tuple(self.expression(item) for item in node.elts))

    def lambda_display(self, node: ast.Lambda, span: Span) -> syntax.Expr:
        return syntax.Lambda(span, self.lambda_function(node))


_Convert = Callable[[_Parser, Any, Span], Any]

_STATEMENTS: dict[type[ast.stmt], _Convert] = {
    ast.Assign: _Parser.assign,
    ast.AugAssign: _Parser.augmented_assign,
    ast.AnnAssign: _Parser.annotated_assign,
    ast.For: _Parser.for_loop,
    ast.While: _Parser.while_loop,
    ast.If: _Parser.if_statement,
    ast.Return: _Parser.return_statement,
    ast.Break: lambda parser, node, span: syntax.Break(span),
    ast.Continue: lambda parser, node, span: syntax.Continue(span),
    ast.Pass: lambda parser, node, span: syntax.Pass(span),
    ast.Expr: _Parser.expression_statement,
    ast.Assert: _Parser.assertion,
    ast.With: _Parser.with_statement,
    ast.FunctionDef: _Parser.function_def,
    ast.AsyncFunctionDef: _Parser.function_def,
}
_EXPRESSIONS: dict[type[ast.expr], _Convert] = {
    ast.Name: _Parser.name,
    ast.Constant: _Parser.constant,
    ast.UnaryOp: _Parser.unary,
    ast.BinOp: _Parser.binary,
    ast.BoolOp: _Parser.bool_op,
    ast.Compare: _Parser.compare,
    ast.IfExp: _Parser.conditional,
    ast.Call: _Parser.call,
    ast.Attribute: _Parser.attribute,
    ast.Subscript: _Parser.subscript,
    ast.Tuple: _Parser.tuple_display,
    ast.Lambda: _Parser.lambda_display,
}

# By name: some of these exist from a later Python on.
_REFUSED_STATEMENTS: dict[str, Refusal] = {
    "Try": refusals.TRY,
    "TryStar": refusals.TRY,
    "Raise": refusals.RAISE,
    "ClassDef": refusals.CLASS,
    "Import": refusals.IMPORT,
    "ImportFrom": refusals.IMPORT,
    "Global": refusals.GLOBAL,
    "Nonlocal": refusals.NONLOCAL,
    "Delete": refusals.DELETE,
    "Match": refusals.MATCH,
    "AsyncFor": refusals.ASYNC_FOR,
    "AsyncWith": refusals.ASYNC_WITH,
    "TypeAlias": refusals.TYPE_ALIAS,
}
_REFUSED_EXPRESSIONS: dict[str, Refusal] = {
    "ListComp": refusals.LIST_COMPREHENSION,
    "SetComp": refusals.SET_COMPREHENSION,
    "DictComp": refusals.DICT_COMPREHENSION,
    "GeneratorExp": refusals.GENERATOR,
    "List": refusals.LIST,
    "Dict": refusals.DICT,
    "Set": refusals.SET,
    "JoinedStr": refusals.FSTRING,
    "TemplateStr": refusals.FSTRING,
    "Starred": refusals.STARRED,
    "NamedExpr": refusals.WALRUS,
    "Await": refusals.AWAIT,
    "Yield": refusals.YIELD,
    "YieldFrom": refusals.YIELD,
}
