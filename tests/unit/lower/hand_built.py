"""Typed kernels built by hand, and a way to run what they lower to: independent of the front end."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager

import numpy as np

from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Source, Span
from lend.ir import typed
from lend.language import abi
from lend.language import types as t
from lend.lower.module import lower
from lend.plan.regions import plan

SPAN = Span(Source("kernel.py", "kernel"), 1, 0, 1, 6)
NUMPY = {
    t.BOOL_: np.bool_, t.I8: np.int8, t.I16: np.int16, t.I32: np.int32, t.I64: np.int64, t.INDEX: np.int64, t.U8: np.uint8,
    t.U16: np.uint16, t.U32: np.uint32, t.U64: np.uint64, t.F16: np.float16, t.F32: np.float32, t.F64: np.float64,
    t.COMPLEX64: np.complex64, t.COMPLEX128: np.complex128,
}  # fmt: skip


class Builder:
    """Appends operations to a stack of regions."""

    def __init__(self, math="default"):
        self.math = math
        self.stack = [[]]
        self.dims, self.parameters, self.sites = [], [], []

    # ---------------------------------------------------------------------------------------------- values

    def value(self, type, name=None):
        return typed.Value(type, SPAN, name)

    def add(self, operation):
        self.stack[-1].append(operation)
        return operation.results[0] if len(operation.results) == 1 else operation.results

    def site(self, kind="bounds"):
        self.sites.append(Site(kind, SPAN))
        return len(self.sites) - 1

    def dim(self, name):
        self.dims.append(self.value(t.INDEX, name))
        return self.dims[-1]

    def scalar(self, name, type):
        self.parameters.append(typed.Parameter(name, self.value(type, name)))
        return self.parameters[-1].value

    def array(self, name, element, dimensions=1, layout=t.Layout.C, borrow=t.Borrow.MUT, sizes=()):
        type = t.array_type(element, dimensions, borrow, layout)
        self.parameters.append(typed.Parameter(name, self.value(type, name), tuple(sizes)))
        return self.parameters[-1].value

    # ------------------------------------------------------------------------------------------ operations

    def const(self, type, value):
        return self.add(typed.Constant(SPAN, self.value(type), value))

    def index(self, value):
        return self.const(t.INDEX, value)

    def unary(self, operator, operand):
        return self.add(typed.Unary(SPAN, self.value(operand.type), operator, operand))

    def binary(self, operator, left, right, site=None):
        type = t.BOOL_ if operator in typed.COMPARISONS else left.type
        return self.add(typed.Binary(SPAN, self.value(type), operator, left, right, site))

    def cast(self, type, operand):
        return self.add(typed.Cast(SPAN, self.value(type), operand))

    def load(self, array, *indices, path=(), type=None, checked=True):
        site = self.site() if checked else None
        return self.add(typed.Load(SPAN, self.value(type or array.array.element), array, indices, path, site))

    def store(self, array, *indices, value, path=(), checked=True):
        self.add(typed.Store(SPAN, array, indices, path, value, self.site() if checked else None))

    def size(self, array, dimension=0):
        return self.add(typed.Size(SPAN, self.value(t.INDEX), array, dimension))

    def view(self, array, *parts, layout=t.Layout.STRIDED, checked=True):
        kept = sum(isinstance(part, typed.Extent) for part in parts)
        type = t.array_type(array.array.element, kept, array.array.borrow, layout)
        return self.add(typed.View(SPAN, self.value(type), array, parts, self.site() if checked else None))

    def reshape(self, array, *sizes):
        layout = array.array.layout if array.array.layout is t.Layout.C else t.Layout.STRIDED
        type = t.array_type(array.array.element, len(sizes), array.array.borrow, layout)
        return self.add(typed.Reshape(SPAN, self.value(type), array, sizes, self.site("shape"), self.site("view")))

    def allocate(self, element, *sizes):
        type = t.array_type(element, len(sizes), t.Borrow.OWNED, t.Layout.C)
        return self.add(typed.Allocate(SPAN, self.value(type, "t"), sizes, self.site("extent"), self.site("memory")))

    def local(self, element, *sizes):
        type = t.array_type(element, len(sizes), t.Borrow.OWNED, t.Layout.C)
        return self.add(typed.Local(SPAN, self.value(type), sizes))

    def require(self, condition, index=None, size=None):
        self.add(typed.Require(SPAN, condition, self.site("contract"), index, size))

    def extent(self, upper, lower=None, step=None):
        return typed.Extent(lower or self.index(0), upper, step or self.index(1))

    # --------------------------------------------------------------------------------------------- regions

    def region(self, parameters, body):
        """`body(*parameters)` writes the region and gives its yields."""
        self.stack.append([])
        yields = body(*parameters)
        yields = () if yields is None else yields if isinstance(yields, tuple) else (yields,)
        return typed.Region(tuple(parameters), tuple(self.stack.pop()), yields)

    def parallel(self, box, body, *reductions, site=None):
        """`reductions` are (operator, inits)."""
        made = tuple(typed.Reduction(operator, tuple(inits)) for operator, inits in reductions)
        inits = [value for reduction in made for value in reduction.inits]
        parameters = [self.value(t.INDEX, "ijklmn"[k]) for k in range(len(box))] + [self.value(v.type) for v in inits]
        region = self.region(parameters, body)
        return self.add(typed.Parallel(SPAN, tuple(self.value(v.type) for v in inits), tuple(box), made, region, site))

    def grid(self, uppers, body, *reductions):
        return self.parallel([self.extent(upper) for upper in uppers], body, *reductions)

    def for_(self, extent, inits, body, stops=False, site=None):
        region = self.region([self.value(t.INDEX, "k"), *(self.value(v.type) for v in inits)], body)
        results = tuple(self.value(v.type) for v in inits)
        return self.add(typed.For(SPAN, results, extent, tuple(inits), region, stops, site))

    def while_(self, inits, condition, body, stops=False):
        test = self.region([self.value(v.type) for v in inits], condition)
        region = self.region([self.value(v.type) for v in inits], body)
        return self.add(typed.While(SPAN, tuple(self.value(v.type) for v in inits), tuple(inits), test, region, stops))

    def if_(self, condition, then, orelse, *types):
        first, second = self.region([], then), self.region([], orelse)
        return self.add(typed.If(SPAN, tuple(self.value(v.type) for v in first.yields), condition, first, second))

    def call(self, name, arguments, body):
        region = self.region([self.value(v.type, v.name) for v in arguments], body)
        results = tuple(self.value(v.type) for v in region.yields)
        return self.add(typed.Call(SPAN, results, name, "kernel.py", tuple(arguments), region))

    def kernel(self, *yields):
        body = typed.Region((), tuple(self.stack[0]), yields)
        dims, parameters, sites = tuple(self.dims), tuple(self.parameters), tuple(self.sites)
        return typed.Kernel(
            span=SPAN, name="kernel", dims=dims, parameters=parameters, contracts=typed.Region((), (), ()), body=body,
            result=None, sites=sites, unchecked=(), math=self.math,
        )  # fmt: skip


# ----------------------------------------------------------------------------------------------------- running


class Outcome:
    """What one call gave: its return code, the fault record, the results as words."""

    def __init__(self, code, fault, results, kernel):
        self.code, self.fault, self.words = code, fault, results
        self._kernel = kernel

    def scalars(self):
        """The scalar results, as NumPy values."""
        out, word = [], 0
        for value in self._kernel.body.yields:
            if isinstance(value.type, t.ScalarType):
                raw = np.array(self.words[word : word + 2], np.uint64).tobytes()
                out.append(np.frombuffer(raw[: value.type.bytes], NUMPY[value.type])[0])
            word += abi.result_words(value.type)
        return out

    def array(self, number=0):
        """A copy of the number-th array result; `owner(number)` is its allocation."""
        word, value = self._array_word(number)
        dtype, count = np.dtype(NUMPY[value.array.element]), value.array.dimensions
        sizes = [int(x) for x in self.words[word + 2 : word + 2 + count]]
        strides = [np.array(x, np.uint64).view(np.int64).item() for x in self.words[word + 2 + count : word + 2 + 2 * count]]
        if 0 in sizes:
            return np.zeros(sizes, dtype)
        memory = (ctypes.c_char * (sum((s - 1) * st for s, st in zip(sizes, strides)) + dtype.itemsize)).from_address(
            self.words[word]
        )
        return np.ndarray(sizes, dtype, memory, 0, strides).copy()

    def owner(self, number=0):
        return self.words[self._array_word(number)[0] + 1]

    def _array_word(self, number):
        word = 0
        for value in self._kernel.body.yields:
            if isinstance(value.type, t.ArrayType):
                if number == 0:
                    return word, value
                number -= 1
            word += abi.result_words(value.type)
        raise IndexError(number)


class Compiled:
    """A kernel compiled for this machine."""

    def __init__(self, kernel):
        from lend.targets.cpu.target import cpu

        self.kernel = kernel
        self.text = lower(plan(kernel))
        self.module = cpu().compile(self.text)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
            self.module.address("kernel")
        )

    def __call__(self, *arguments):
        """`arguments`: dims, then parameters (NumPy arrays or numbers)."""
        words, values = [], [*self.kernel.dims, *(p.value for p in self.kernel.parameters)]
        for value, argument in zip(values, arguments, strict=True):
            if isinstance(value.type, t.ArrayType):
                words += [argument.ctypes.data, *argument.shape, *argument.strides]
            else:
                raw = np.array(argument, NUMPY[value.type]).tobytes()
                words += np.frombuffer(raw.ljust(8 * abi.scalar_words(value.type), b"\0"), np.int64).tolist()
        block = np.array([w - 2**64 if w >= 2**63 else w for w in words] or [0], np.int64)
        results = np.zeros(1 + sum(abi.result_words(v.type) for v in self.kernel.body.yields), np.uint64)
        fault = np.zeros(abi.FAULT_WORDS, np.int64)
        fault[abi.FAULT_THREAD] = abi.NO_FAULT
        code = self._call(block.ctypes.data, results.ctypes.data, fault.ctypes.data)
        return Outcome(code, fault.tolist(), [int(x) for x in results], self.kernel)


@contextmanager
def threads(count):
    """Run with that many threads."""
    from lend.targets.cpu.threads import pool

    before = pool().threads
    pool().configure(count)
    try:
        yield
    finally:
        pool().configure(before)
