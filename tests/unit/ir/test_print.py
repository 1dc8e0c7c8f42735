"""Both trees as text."""

from __future__ import annotations

from tree_builder import TreeBuilder, saxpy

from lend.diagnostics.spans import Source, Span
from lend.ir import syntax
from lend.ir.print import print_kernel, print_syntax
from lend.ir.typed import Reduction
from lend.language.types import BOOL_, F64, I64, INDEX


def test_saxpy_prints_its_loop_with_names_types_and_sites():
    assert print_kernel(saxpy()) == (
        "kernel saxpy[%N: index](%a: f32, %x: Ref[f32, 1d, C], %y: Mut[f32, 1d, C]) math=strict {\n"
        "    %0: index = constant 0\n"
        "    %1: index = constant 1\n"
        "    parallel %i: index in %0:%N:%1 {\n"
        "        %2: f32 = load %y[%i] !0\n"
        "        %3: f32 = load %x[%i] !1\n"
        "        %4: f32 = mul %a, %3\n"
        "        %5: f32 = add %2, %4\n"
        "        store %y[%i] = %5 !2\n"
        "    }\n"
        "}\n"
        "!0 = bounds read of y in i\n"
        "!1 = bounds read of x in i\n"
        "!2 = bounds write of y in i\n"
    )


def test_spans_stand_at_the_end_of_the_line():
    text = print_kernel(saxpy(), spans=True)
    assert "    parallel %i: index in %0:%N:%1 {  ; 2:5\n" in text
    assert "store %y[%i] = %5 !2  ; 3:9\n" in text


def test_the_same_tree_prints_the_same_text():
    assert print_kernel(saxpy()) == print_kernel(saxpy())


def test_control_flow_shows_what_is_carried():
    b = TreeBuilder()
    n, zero = b.value(INDEX, "N"), b.constant(0.0, F64, "s")
    k, s = b.value(INDEX, "k"), b.value(F64, "s")
    extent = b.extent(n)
    with b.region(k, s) as body:
        condition = b.binary("lt", s, b.constant(9.0, F64))
        with b.region() as then:
            then.yields = (b.binary("add", s, b.constant(1.0, F64), "s"),)
        with b.region() as orelse:
            orelse.yields = (s,)
        total = b.if_(condition, then, orelse, b.value(F64, "s"))
        body.yields = (condition, total)
    last = b.for_(extent, [zero], body, b.value(F64, "s"), stops=True)
    one, other = b.value(F64, "s"), b.value(F64, "s")
    with b.region(one) as test:
        test.yields = (b.binary("gt", one, b.constant(0.5, F64)),)
    with b.region(other) as body:
        body.yields = (b.binary("mul", other, other, "s"),)
    last = b.while_([last], test, body, b.value(F64, "s"))
    i, r = b.value(INDEX, "i"), b.value(F64, "r")
    with b.region(i, r) as body:
        body.yields = (b.binary("max", r, b.cast(i, F64), "r"),)
    result = b.parallel([b.extent(n)], body, b.value(F64, "r"), reductions=[Reduction("max", (last,))])
    p = b.value(F64, "x")
    with b.region(p) as body:
        body.yields = (b.unary("neg", p),)
    result = b.call("minus", "lib.py", [result], body, b.value(F64))
    assert print_kernel(b.kernel("f", [n], [], result)) == (
        "kernel f[%N: index]() math=strict {\n"
        "    %s: f64 = constant 0.0\n"
        "    %0: index = constant 0\n"
        "    %1: index = constant 1\n"
        "    for %k: index in %0:%N:%1 (%s.1: f64) = (%s) stops {\n"
        "        %2: f64 = constant 9.0\n"
        "        %3: bool_ = lt %s.1, %2\n"
        "        if %3 {\n"
        "            %4: f64 = constant 1.0\n"
        "            %s.2: f64 = add %s.1, %4\n"
        "            yield %s.2\n"
        "        } else {\n"
        "            yield %s.1\n"
        "        } -> %s.3: f64\n"
        "        yield %3, %s.3\n"
        "    } -> %s.4: f64\n"
        "    while (%s.5: f64) = (%s.4) {\n"
        "        %5: f64 = constant 0.5\n"
        "        %6: bool_ = gt %s.5, %5\n"
        "        yield %6\n"
        "    } do (%s.6: f64) {\n"
        "        %s.7: f64 = mul %s.6, %s.6\n"
        "        yield %s.7\n"
        "    } -> %s.8: f64\n"
        "    %7: index = constant 0\n"
        "    %8: index = constant 1\n"
        "    parallel %i: index in %7:%N:%8 reduce (%r: f64) = max(%s.8) {\n"
        "        %9: f64 = cast %i\n"
        "        %r.1: f64 = max %r, %9\n"
        "        yield %r.1\n"
        "    } -> %r.2: f64\n"
        "    call minus(%r.2) (%x: f64) {\n"
        "        %10: f64 = neg %x\n"
        "        yield %10\n"
        "    } -> %11: f64\n"
        "    yield %11\n"
        "}\n"
    )


def test_every_simple_operation_has_its_line():
    b = TreeBuilder()
    n, x = b.value(INDEX, "N"), b.array("x", F64, 2)
    zero = b.index(0)
    v = b.view(x, zero, b.extent(n), name="row")
    t = b.allocate(F64, n, name="t")
    b.reshape(t, n, zero)
    b.local(I64, 2, 3)
    b.size(x, 1)
    b.math("hypot", b.load(v, zero, checked=False), b.constant(1.0, F64))
    b.require(b.constant(True, BOOL_), b.site("contract", text="N > 0"), n)
    text = print_kernel(b.kernel("f", [n], [x]))
    for line in (
        "%row: Mut[f64, 1d, strided] = view %x[%0, %1:%N:%2] !0", "%t: owned[f64, 1d, C] = allocate %N !1 !2",
        "%3: owned[f64, 2d, C] = reshape %t, %N, %0 !3 !4", "%4: owned[i64, 2d, C] = local 2, 3", "%5: index = size %x, 1",
        "%6: f64 = load %row[%0]\n", "%8: f64 = hypot(%6, %7)", "require %9, %N !5", "!5 = contract N > 0",
    ):  # fmt: skip
        assert line in text, (line, text)


# --------------------------------------------------------------------------------------------------- the untyped tree


def test_the_untyped_tree_prints_as_bracketed_python():
    source = Source("k.py", "")
    at = Span(source, 1, 0, 1, 1)
    x, one = syntax.Name(at, "x"), syntax.Literal(at, 1)
    total = syntax.Binary(at, "+", x, syntax.Unary(at, "-", one))
    place = syntax.Subscript(at, x, (one, syntax.Slice(at, None, one, None)))
    compare = syntax.Compare(at, one, ("<", "<="), (x, one))
    inner = syntax.Function(at, "<lambda>", (syntax.Parameter(at, "v", None, None, False),), (syntax.Return(at, x),), None)
    call = syntax.Call(at, syntax.Attribute(at, x, "f"), (syntax.Lambda(at, inner),), (("k", syntax.Tuple(at, (one,))),))
    body = (
        syntax.Assign(at, (x, place), total),
        syntax.AugAssign(at, x, "*", one),
        syntax.AnnAssign(at, x, x, None),
        syntax.For(at, x, call, (syntax.Continue(at),)),
        syntax.While(at, compare, (syntax.Break(at),)),
        syntax.If(at, syntax.BoolOp(at, "and", (x, one)), (syntax.Pass(at),), (syntax.ExprStmt(at, x),)),
        syntax.Assert(at, syntax.Unary(at, "not", x), "why"),
        syntax.With(at, x, ()),
        syntax.Return(at, syntax.Conditional(at, x, one, x)),
    )
    parameters = (syntax.Parameter(at, "a", x, None, False), syntax.Parameter(at, "b", None, one, True))
    assert print_syntax(syntax.Function(at, "f", parameters, body, None)) == (
        "def f(a: x, *, b = 1):\n"
        "    x = x[1, :1] = (x + (-1))\n"
        "    x *= 1\n"
        "    x: x\n"
        "    for x in x.f((lambda v: x), k=(1,)):\n"
        "        continue\n"
        "    while (1 < x <= 1):\n"
        "        break\n"
        "    if (x and 1):\n"
        "        pass\n"
        "    else:\n"
        "        x\n"
        "    assert (not x), 'why'\n"
        "    with x:\n"
        "        pass\n"
        "    return (1 if x else x)\n"
    )
