"""Each test writes a file, imports it and parses its function `f`; trees are compared in a compact form."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.spans import Span
from lend.frontend.capture import capture
from lend.frontend.parse import MAX_DEPTH, parse_function
from lend.ir import syntax

Load = Callable[[str], ModuleType]
_numbers = itertools.count()


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str) -> ModuleType:
        path = tmp_path / f"parsed{next(_numbers)}.py"
        path.write_text("from __future__ import annotations\n" + textwrap.dedent(text), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def tree_of(module: ModuleType) -> syntax.Function:
    function, refused = parse_function(capture(module.f))
    assert refused == []
    return function


def refused_in(module: ModuleType) -> list[Diagnostic]:
    return parse_function(capture(module.f))[1]


def short(node: Any) -> Any:
    """A tree without spans: the class names and the parts."""
    if isinstance(node, tuple):
        return [short(part) for part in node]
    if isinstance(node, syntax.Name):
        return node.id
    if isinstance(node, syntax.Literal):
        return repr(node.value)
    if is_dataclass(node) and not isinstance(node, Span):
        parts = (getattr(node, f.name) for f in fields(node))
        return (type(node).__name__, *(short(part) for part in parts if not isinstance(part, Span)))
    return node


def body_of(module: ModuleType) -> list[Any]:
    return short(tree_of(module).body)


def text(span: Span) -> str:
    """What stands at a span."""
    lines = span.source.text.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)


def body(load: Load, *statements: str) -> list[Any]:
    return body_of(load("def f(x, y, z, i, j, n):\n" + textwrap.indent("\n".join(statements), "    ") + "\n"))


def test_assignments(load: Load) -> None:
    assert body(load, "x = y = 1", "x, (y, z) = [i, j] = 1, (2, 3)", "x[i, j] += 2", "x.a **= 1", "k: i32 = 3", "m: i32") == [
        ("Assign", ["x", "y"], "1"),
        (
            "Assign",
            [("Tuple", ["x", ("Tuple", ["y", "z"])]), ("Tuple", ["i", "j"])],
            ("Tuple", ["1", ("Tuple", ["2", "3"])]),
        ),
        ("AugAssign", ("Subscript", "x", ["i", "j"]), "+", "2"),
        ("AugAssign", ("Attribute", "x", "a"), "**", "1"),
        ("AnnAssign", "k", "i32", "3"),
        ("AnnAssign", "m", "i32", None),
    ]


def test_control_flow(load: Load) -> None:
    assert body(
        load,
        "for i, j in g(n):\n    continue",
        "while x:\n    break",
        "if x:\n    pass\nelif y:\n    return x, y\nelse:\n    return",
        "with u('why'), v:\n    pass",
    ) == [
        ("For", ("Tuple", ["i", "j"]), ("Call", "g", ["n"], []), [("Continue",)]),
        ("While", "x", [("Break",)]),
        ("If", "x", [("Pass",)], [("If", "y", [("Return", ("Tuple", ["x", "y"]))], [("Return", None)])]),
        ("With", ("Call", "u", ["'why'"], []), [("With", "v", [("Pass",)])]),
    ]


def test_expressions(load: Load) -> None:
    assert body(
        load,
        "-x + ~y * (not z)",
        "x < y <= z is not None != i",
        "x and y and z or i",
        "x if y else z",
        "g(x, 1, k=2, m=y)(z).a",
        "x[i, :, 1:n:2][(i, j)][i][::]",
        "1 // 2 % 3 / 4 @ 5 << 6 >> 7 & 8 | 9 ^ 10",
        "(1, 2.5, 3j, True, 'a', ())",
        "x is None",
    ) == [
        ("ExprStmt", ("Binary", "+", ("Unary", "-", "x"), ("Binary", "*", ("Unary", "~", "y"), ("Unary", "not", "z")))),
        ("ExprStmt", ("Compare", "x", ["<", "<=", "is not", "!="], ["y", "z", "None", "i"])),
        ("ExprStmt", ("BoolOp", "or", [("BoolOp", "and", ["x", "y", "z"]), "i"])),
        ("ExprStmt", ("Conditional", "y", "x", "z")),
        (
            "ExprStmt",
            ("Attribute", ("Call", ("Call", "g", ["x", "1"], [["k", "2"], ["m", "y"]]), ["z"], []), "a"),
        ),
        (
            "ExprStmt",
            (
                "Subscript",
                (
                    "Subscript",
                    (
                        "Subscript",
                        ("Subscript", "x", ["i", ("Slice", None, None, None), ("Slice", "1", "n", "2")]),
                        ["i", "j"],
                    ),
                    ["i"],
                ),
                [("Slice", None, None, None)],
            ),
        ),
        (
            "ExprStmt",
            (
                "Binary",
                "|",
                (
                    "Binary",
                    "&",
                    (
                        "Binary",
                        ">>",
                        (
                            "Binary",
                            "<<",
                            ("Binary", "@", ("Binary", "/", ("Binary", "%", ("Binary", "//", "1", "2"), "3"), "4"), "5"),
                            "6",
                        ),
                        "7",
                    ),
                    "8",
                ),
                ("Binary", "^", "9", "10"),
            ),
        ),
        ("ExprStmt", ("Tuple", ["1", "2.5", "3j", "True", "'a'", ("Tuple", [])])),
        ("ExprStmt", ("Compare", "x", ["is"], ["None"])),
    ]


def test_strings_and_dots_that_stand_alone_say_nothing(load: Load) -> None:
    assert body(load, '"""What f does."""', "...") == [("Pass",), ("Pass",)]


def test_assertions_keep_literal_messages_only(load: Load) -> None:
    assert body(load, "assert x", "assert x, 'why'", "assert x, f'{y}'", "assert x, y") == [
        ("Assert", "x", None),
        ("Assert", "x", "why"),
        ("Assert", "x", None),
        ("Assert", "x", None),
    ]


def test_parameters(load: Load) -> None:
    module = load("def f(a, b: Ref[f64, N] = 1, /, c: [1] = [2], *, d: int, e=(3)) -> i32:\n    pass\n")
    function = tree_of(module)
    assert [(p.name, short(p.annotation), short(p.default), p.keyword_only) for p in function.parameters] == [
        ("a", None, None, False),
        ("b", ("Subscript", "Ref", ["f64", "N"]), "1", False),
        ("c", None, None, False),
        ("d", "int", None, True),
        ("e", None, "3", True),
    ]
    assert [text(p.span) for p in function.parameters] == ["a", "b", "c", "d", "e"]
    assert [p.annotation_span and text(p.annotation_span) for p in function.parameters] == [
        None,
        "Ref[f64, N]",
        "[1]",
        "int",
        None,
    ]
    assert function.returns is not None and text(function.returns) == "i32"


def test_lambdas_are_functions_of_one_return(load: Load) -> None:
    function = tree_of(load("f = lambda a, b=2: a + b\n"))
    assert function.name == "<lambda>"
    assert text(function.span) == "lambda a, b=2: a + b"
    assert short(function.body) == [("Return", ("Binary", "+", "a", "b"))]
    [assign] = tree_of(load("def f():\n    g = lambda q: q\n")).body
    assert short(assign) == (
        "Assign",
        ["g"],
        ("Lambda", ("Function", "<lambda>", [("Parameter", "q", None, None, False, None)], [("Return", "q")], None)),
    )


def test_nested_functions(load: Load) -> None:
    [nested] = tree_of(load("def f():\n    def g(q: f32, *, r=1) -> f32: return q\n")).body
    assert isinstance(nested, syntax.FunctionDef)
    assert text(nested.span) == text(nested.function.span) == "def g(q: f32, *, r=1) -> f32:"
    assert [p.name for p in nested.function.parameters] == ["q", "r"]


def test_headers_end_at_their_colon(load: Load) -> None:
    function = tree_of(
        load(
            """
            def f(a, b: {1: 2} = {3: 4}[3],  # a colon: in a comment
                  c=1
            ) -> {5: 6}[5]:
                for i in (range(a  # one: two
                    )):
                    pass
                while (a[1:2]):
                    pass
                if a: pass
                elif (b) : pass
                with (lend.unchecked("a: b")): pass
            """
        )
    )
    headers = [text(statement.span) for statement in function.body]
    assert text(function.span).startswith("def f(a") and text(function.span).endswith("-> {5: 6}[5]:")
    assert headers == [
        "for i in (range(a  # one: two\n        )):",
        "while (a[1:2]):",
        "if a:",
        'with (lend.unchecked("a: b")):',
    ]
    inner = function.body[2]
    assert isinstance(inner, syntax.If) and text(inner.orelse[0].span) == "elif (b) :"


def test_columns_count_characters(load: Load) -> None:
    [first, second] = tree_of(load("def f(x):\n    é = '日本🙂' ; y = x\n")).body
    assert text(first.span) == "é = '日本🙂'"
    assert text(second.span) == "y = x"


def test_a_decorator_is_not_part_of_the_header(load: Load) -> None:
    assert text(tree_of(load("same = lambda f: f\n@same\n@(same)\ndef f(): pass\n")).span) == "def f():"


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("x = [k for k in y]", "L0110", "[k for k in y]"),
        ("x = sum(k for k in y)", "L0110", "(k for k in y)"),
        ("x = {k for k in y}", "L0110", "{k for k in y}"),
        ("x = {k: k for k in y}", "L0110", "{k: k for k in y}"),
        ("x = [1, 2]", "L0111", "[1, 2]"),
        ("x = {1: 2}", "L0112", "{1: 2}"),
        ("x = {1, 2}", "L0112", "{1, 2}"),
        ("x = f'{y}'", "L0113", "f'{y}'"),
        ("g(*x)", "L0114", "*x"),
        ("g(**x)", "L0114", "**x"),
        ("x = (*y, 1)", "L0114", "*y"),
        ("x, *z = y", "L0114", "*z"),
        ("x[(k := 1)] = 2", "L0115", "k := 1"),
        ("x = y in z", "L0116", "y in z"),
        ("x = y not in z", "L0116", "y not in z"),
        ("x = ...", "L0117", "..."),
        ("x[..., 0] = 1", "L0117", "..."),
        ("x = b'a'", "L0118", "b'a'"),
        ("try: pass\nfinally: pass", "L0120", "try"),
        ("try: pass\nexcept* ValueError: pass", "L0120", "try"),
        ("raise ValueError('a')", "L0121", "raise ValueError('a')"),
        ("with g(x) as k: pass", "L0122", "k"),
        ("class C(x): pass", "L0123", "class C(x):"),
        ("import os", "L0124", "import os"),
        ("from os import path", "L0124", "from os import path"),
        ("global g", "L0125", "global g"),
        ("del x", "L0126", "del x"),
        ("match x:\n    case 1: pass", "L0127", "match x:"),
        ("for k in x: pass\nelse: pass", "L0128", "for k in x:"),
        ("while x: pass\nelse: pass", "L0128", "while x:"),
        ("x[0]: int = 1", "L0130", "x[0]"),
        ("@g\ndef k(): pass", "L0108", "g"),
        ("async def k(): pass", "L0105", "async"),
        ("def k(*a): pass", "L0107", "a"),
        ("k = lambda **a: 1", "L0107", "a"),
        ("yield x", "L0106", "yield x"),
        ("x = yield from y", "L0106", "yield from y"),
    ],
)
def test_what_kernels_do_not_have_is_named_and_pointed_at(load: Load, statement: str, code: str, place: str) -> None:
    [diagnostic] = refused_in(load("def f(x, y, z):\n" + textwrap.indent(statement, "    ") + "\n"))
    assert (diagnostic.code, text(diagnostic.primary.span)) == (code, place)
    assert diagnostic.fix and diagnostic.message and diagnostic.primary.text


@pytest.mark.parametrize(
    ("function", "codes"),
    [
        ("async def f(x):\n    await x\n    async for k in x: pass\n    async with x: pass\n", ["L0105"] * 4),
        ("def f(*args, **kwargs): pass\n", ["L0107", "L0107"]),
        ("def f(x: [1], y=[2]): pass\n", []),
        ("f = lambda *a: [1]\n", ["L0107", "L0111"]),
        ("def g():\n    k = 1\n    def f():\n        nonlocal k\n        k = 2\n    return f\nf = g()\n", ["L0125"]),
    ],
)
def test_functions_and_lambdas(load: Load, function: str, codes: list[str]) -> None:
    assert [d.code for d in refused_in(load(function))] == codes


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a statement of Python 3.12")
def test_type_statements(load: Load) -> None:
    assert [d.code for d in refused_in(load("def f(x):\n    type A = int\n"))] == ["L0129"]
    assert refused_in(load("def f[T](x: T) -> T:\n    return x\n")) == []


def test_all_refusals_come_together_in_source_order(load: Load) -> None:
    refused = refused_in(
        load(
            """
            def f(x, y):
                try:
                    x = [1]
                except ValueError:
                    raise
                else:
                    del y
                finally:
                    import os
                match x:
                    case 1: global g
                for k in {1}:
                    x = y
                else:
                    y = b''
            """
        )
    )
    codes = [d.code for d in refused]
    assert codes == ["L0120", "L0111", "L0121", "L0126", "L0124", "L0127", "L0125", "L0128", "L0112", "L0118"]
    assert [d.primary.span.line for d in refused] == sorted(d.primary.span.line for d in refused)


def test_a_comprehension_is_reported_once_whatever_it_holds(load: Load) -> None:
    assert [d.code for d in refused_in(load("def f(x):\n    return [[k for k in {1}] for j in f'{x}']\n"))] == ["L0110"]


@pytest.mark.parametrize(
    "expression",
    ["(x + " * 160 + "x" + ")" * 160, "-" * 180 + "x", "x" + ".a" * 500, "x" + "[0]" * 500, "x if x else " * 90 * 2 + "x"],
)
def test_deep_expressions_are_one_error(load: Load, expression: str) -> None:
    [diagnostic] = refused_in(load(f"def f(x):\n    return {expression}\n"))
    assert diagnostic.code == "L0104"


def test_many_branches_and_terms_below_the_limit_are_fine(load: Load) -> None:
    terms = " + ".join(["x"] * 2000)  # no deeper than one of them
    branches = "".join(f"    elif x == {k}: pass\n" for k in range(MAX_DEPTH - 20))
    assert refused_in(load(f"def f(x):\n    y = {terms}\n    if x: pass\n{branches}")) == []


def test_a_stack_that_is_nearly_used_up_is_an_error_of_the_kernel(load: Load) -> None:
    captured = capture(load(f"def f(x):\n    return {'(x + ' * 140}x{')' * 140}\n").f)

    def fill(depth: int) -> list[Diagnostic]:
        return fill(depth - 1) if depth else parse_function(captured)[1]

    frames, frame = 0, sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    diagnostics = fill(sys.getrecursionlimit() - frames - 100)
    assert [d.code for d in diagnostics] == ["L0104"]
