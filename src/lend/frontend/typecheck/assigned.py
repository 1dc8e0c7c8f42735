"""Which names a piece of syntax assigns.

Does: collect them.  Does not: look into nested functions (their names are their own).
"""

from __future__ import annotations

from collections.abc import Iterator

from lend.ir import syntax


def targets(target: syntax.Expr) -> Iterator[str]:
    """The names a target binds."""
    if isinstance(target, syntax.Name):
        yield target.id
    elif isinstance(target, syntax.Tuple):
        for item in target.items:
            yield from targets(item)


def changed_names(statements: tuple[syntax.Stmt, ...]) -> frozenset[str]:
    """The names whose fields or items statements assign: a record or a vector by value then is another one."""
    found: set[str] = set()
    for statement in walk(statements):
        match statement:
            case syntax.Assign():
                for target in statement.targets:
                    found.update(changed(target))
            case syntax.AugAssign():
                found.update(changed(statement.target))
            case _:
                pass
    return frozenset(found)


def changed(target: syntax.Expr) -> Iterator[str]:
    """The names that a target changes a part of: `p` in `p.x` and in `p.v[0]`."""
    if isinstance(target, syntax.Tuple):
        for item in target.items:
            yield from changed(item)
    inner = target
    while isinstance(inner, syntax.Attribute | syntax.Subscript):
        inner = inner.value
    if isinstance(inner, syntax.Name) and inner is not target:
        yield inner.id


def walk(statements: tuple[syntax.Stmt, ...]) -> Iterator[syntax.Stmt]:
    """All statements, nested ones included."""
    for statement in statements:
        yield statement
        match statement:
            case syntax.For() | syntax.While() | syntax.With():
                yield from walk(statement.body)
            case syntax.If():
                yield from walk(statement.then)
                yield from walk(statement.orelse)
            case _:
                pass


def assigned_names(statements: tuple[syntax.Stmt, ...]) -> frozenset[str]:
    """The names that statements bind."""
    found: set[str] = set()
    for statement in walk(statements):
        match statement:
            case syntax.Assign():
                for target in statement.targets:
                    found.update(targets(target))
            case syntax.AugAssign() | syntax.AnnAssign():
                found.update(targets(statement.target))
            case syntax.For():
                found.update(targets(statement.target))
            case syntax.FunctionDef():
                found.add(statement.function.name)
            case _:
                pass
    return frozenset(found)


def always_leaves(statements: tuple[syntax.Stmt, ...]) -> bool:
    """Whether every path through the statements ends in `return`, `break` or `continue`, or never ends."""
    for statement in statements:
        if isinstance(statement, syntax.Return | syntax.Break | syntax.Continue):
            return True
        if isinstance(statement, syntax.If) and always_leaves(statement.then) and always_leaves(statement.orelse):
            return True
        if isinstance(statement, syntax.With) and always_leaves(statement.body):
            return True
        if isinstance(statement, syntax.While) and endless(statement):
            return True
    return False


def endless(loop: syntax.While) -> bool:
    """Whether a loop such as `while True:` ends by `return` only."""
    return isinstance(loop.test, syntax.Literal) and bool(loop.test.value) and not may_leave(loop.body, syntax.Break)


def may_leave(statements: tuple[syntax.Stmt, ...], kind: type[syntax.Stmt]) -> bool:
    """Whether a `return`, or a `break`/`continue` of the enclosing loop, stands among the statements."""
    for statement in statements:
        if isinstance(statement, kind):
            return True
        match statement:
            case syntax.If():
                inside = may_leave(statement.then, kind) or may_leave(statement.orelse, kind)
            case syntax.With():
                inside = may_leave(statement.body, kind)
            case syntax.For() | syntax.While():
                inside = kind is syntax.Return and may_leave(statement.body, kind)
            case _:
                inside = False
        if inside:
            return True
    return False
