"""Typed trees by hand, for tests of what reads them."""

from __future__ import annotations

from contextlib import contextmanager

from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Source, Span
from lend.ir import typed
from lend.ir.typed import Extent, Kernel, Parameter, Region, Value
from lend.language.signature import ResultLeaf, ResultTuple
from lend.language.types import BOOL_, INDEX, Borrow, Layout, array_type


class TreeBuilder:
    """Appends operations; `at` says which source line they come from."""

    def __init__(self, text="", filename="kernels.py"):
        self.source = Source(filename, text)
        self.operations = []
        self.sites = []
        self.threads = ()
        self.line = 1
        self.current = self.source

    def at(self, line, source=None):
        self.line = line
        self.current = source or self.source
        return self

    @property
    def span(self):
        text = self.current.line(self.line)
        column = len(text) - len(text.lstrip())
        return Span(self.current, self.line, column, self.line, max(len(text), column + 1))

    def value(self, type, name=None):
        return Value(type, self.span, name)

    def array(self, name, element, dimensions=1, borrow=Borrow.MUT, layout=Layout.C):
        return self.value(array_type(element, dimensions, borrow, layout), name)

    def site(self, kind, **details):
        self.sites.append(Site(kind, self.span, threads=self.threads, **details))
        return len(self.sites) - 1

    def add(self, operation):
        self.operations.append(operation)
        return operation.results[0] if len(operation.results) == 1 else operation.results

    # -------------------------------------------------------------------------------------------- operations

    def constant(self, value, type, name=None):
        return self.add(typed.Constant(self.span, self.value(type, name), value))

    def index(self, value):
        return self.constant(value, INDEX)

    def unary(self, operator, operand, name=None, type=None):
        return self.add(typed.Unary(self.span, self.value(type or operand.type, name), operator, operand))

    def binary(self, operator, left, right, name=None, site=None):
        type = BOOL_ if operator in typed.COMPARISONS else left.type
        return self.add(typed.Binary(self.span, self.value(type, name), operator, left, right, site))

    def math(self, function, *arguments, type=None, name=None):
        return self.add(typed.Math(self.span, self.value(type or arguments[0].type, name), function, arguments))

    def cast(self, operand, type, name=None):
        return self.add(typed.Cast(self.span, self.value(type, name), operand))

    def load(self, array, *indices, path=(), name=None, checked=True):
        element = array.array.element
        for position in path:
            element = element.fields[position][1]
        site = self.site("bounds", array=array.name, access="read") if checked else None
        return self.add(typed.Load(self.span, self.value(element, name), array, indices, path, site))

    def store(self, array, indices, value, path=(), checked=True):
        site = self.site("bounds", array=array.name, access="write") if checked else None
        return self.add(typed.Store(self.span, array, indices, path, value, site))

    def size(self, array, dimension, name=None):
        return self.add(typed.Size(self.span, self.value(INDEX, name), array, dimension))

    def view(self, array, *parts, name=None, layout=Layout.STRIDED):
        kept = sum(isinstance(part, Extent) for part in parts)
        type = array_type(array.array.element, kept, array.array.borrow, layout)
        site = self.site("bounds", array=array.name, access="read")
        return self.add(typed.View(self.span, self.value(type, name or array.name), array, parts, site))

    def reshape(self, array, *sizes, name=None):
        type = array_type(array.array.element, len(sizes), array.array.borrow, array.array.layout)
        sites = self.site("shape", text="the number of elements"), self.site("view", array=array.name)
        return self.add(typed.Reshape(self.span, self.value(type, name), array, sizes, *sites))

    def allocate(self, element, *sizes, name=None):
        result = self.value(array_type(element, len(sizes), Borrow.OWNED, Layout.C), name)
        return self.add(typed.Allocate(self.span, result, sizes, self.site("extent"), self.site("memory")))

    def local(self, element, *sizes, name=None):
        return self.add(typed.Local(self.span, self.array(name, element, len(sizes), Borrow.OWNED), sizes))

    def require(self, condition, site, index=None, size=None):
        return self.add(typed.Require(self.span, condition, site, index, size))

    # ----------------------------------------------------------------------------------------------- regions

    @contextmanager
    def region(self, *parameters):
        """Collects a region; fill in its yields with `out.yields = …`."""
        outside, self.operations = self.operations, []
        out = OpenRegion(parameters)
        yield out
        out.region = Region(tuple(parameters), tuple(self.operations), tuple(out.yields))
        self.operations = outside

    def extent(self, upper, lower=None, step=None):
        return Extent(lower or self.index(0), upper, step or self.index(1))

    def if_(self, condition, then, orelse, *results):
        return self.add(typed.If(self.span, results, condition, then.region, orelse.region))

    def for_(self, extent, inits, body, *results, stops=False, site=None):
        return self.add(typed.For(self.span, results, extent, tuple(inits), body.region, stops, site))

    def while_(self, inits, condition, body, *results, stops=False):
        return self.add(typed.While(self.span, results, tuple(inits), condition.region, body.region, stops))

    def call(self, name, filename, arguments, body, *results):
        return self.add(typed.Call(self.span, results, name, filename, tuple(arguments), body.region))

    def parallel(self, box, body, *results, reductions=(), site=None):
        return self.add(typed.Parallel(self.span, results, tuple(box), tuple(reductions), body.region, site))

    @contextmanager
    def inside(self, *names):
        """Sites made here belong to a parallel loop with these indices."""
        self.threads = names
        yield
        self.threads = ()

    def kernel(self, name, dims, parameters, *yields, unchecked=(), math="strict", result=None):
        if result is None and yields:
            leaves = tuple(ResultLeaf(value.type) for value in yields)
            result = leaves[0] if len(leaves) == 1 else ResultTuple(leaves)
        body = Region((), tuple(self.operations), yields)
        leaves = tuple(Parameter(value.name, value) for value in parameters)
        self.line = 1
        return Kernel(self.span, name, tuple(dims), leaves, body, result, tuple(self.sites), tuple(unchecked), math)


class OpenRegion:
    """A region being collected."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.yields = ()
        self.region = None


def saxpy(name="saxpy"):
    """y[i] += a * x[i] over N."""
    b = TreeBuilder("def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):\n    for i in lend.grid(N):\n        y[i] += a * x[i]\n")
    from lend.language.types import F32

    n, a = b.value(INDEX, "N"), b.value(F32, "a")
    x, y = b.array("x", F32, borrow=Borrow.REF), b.array("y", F32)
    b.at(2)
    extent = b.extent(n)
    i = b.value(INDEX, "i")
    with b.inside("i"), b.region(i) as body:
        b.at(3)
        old = b.load(y, i)
        b.store(y, (i,), b.binary("add", old, b.binary("mul", a, b.load(x, i))))
    b.at(2).parallel([extent], body)
    return b.kernel(name, [n], [a, x, y])
