"""Compiled array operations: layouts, views, records, local arrays."""

import numpy as np
import pytest
from hand_built import NUMPY, Builder, Compiled, t, threads, typed

LAYOUTS = {
    "C": (t.Layout.C, lambda a: np.ascontiguousarray(a)),
    "F": (t.Layout.F, lambda a: np.asfortranarray(a)),
    "strided": (t.Layout.STRIDED, lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3]),
    "reversed": (t.Layout.STRIDED, lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]),
    "unaligned": (t.Layout.UNALIGNED, lambda a: unaligned(a)),
}


def unaligned(a):
    """A copy of `a` at odd addresses."""
    record = np.zeros(a.shape, np.dtype([("pad", np.uint8), ("value", a.dtype)]))
    record["value"] = a
    return record["value"]


PAIRS = [(source, target, t.F64) for source in LAYOUTS for target in LAYOUTS]
TYPES = [(source, source, type) for source in LAYOUTS for type in (t.BOOL_, t.U8, t.F16, t.COMPLEX128)]


@pytest.mark.parametrize(("source", "target", "type"), PAIRS + TYPES, ids=str)
def test_elements_are_found_in_every_layout(source, target, type):
    b = Builder()
    x = b.array("x", type, 2, LAYOUTS[source][0], t.Borrow.REF)
    y = b.array("y", type, 2, LAYOUTS[target][0])
    b.grid([b.size(x, 0), b.size(x, 1)], lambda i, j: b.store(y, i, j, value=b.load(x, i, j)))
    compiled = Compiled(b.kernel())
    values = (np.arange(7 * 5).reshape(7, 5) % 3).astype(NUMPY[type])
    given, out = LAYOUTS[source][1](values), LAYOUTS[target][1](np.zeros((7, 5), NUMPY[type]))
    assert compiled(given, out).code == 0
    assert np.array_equal(out, values)


def test_any_byte_but_zero_is_true():
    b = Builder()
    x, y = b.array("x", t.BOOL_, borrow=t.Borrow.REF), b.array("y", t.I32)
    b.grid([b.size(x)], lambda i: b.store(y, i, value=b.cast(t.I32, b.load(x, i))))
    flags, out = np.array([0, 1, 2, 255], np.uint8).view(np.bool_), np.zeros(4, np.int32)
    Compiled(b.kernel())(flags, out)
    assert out.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("box", [(0, 10, 1), (3, 9, 1), (1, 10, 3), (9, -1, -2), (5, 5, 1), (7, 2, 1), (-5, -1, 2)])
def test_boxes_are_ranges(box):
    b = Builder()
    y, offset = b.array("y", t.I64), b.scalar("offset", t.I64)
    extent = typed.Extent(*(b.scalar(name, t.I64) for name in ("lower", "upper", "step")))

    def body(i):
        place = b.binary("add", b.cast(t.I64, i), offset)
        b.store(y, place, value=b.binary("add", b.load(y, place), b.const(t.I64, 1)))

    b.parallel([extent], body, site=b.site("step"))
    compiled, out = Compiled(b.kernel()), np.zeros(20, np.int64)
    assert compiled(out, 5, *box).code == 0
    want = np.zeros(20, np.int64)
    want[[5 + i for i in range(*box)]] = 1
    assert np.array_equal(out, want)


def test_extents_at_the_ends_of_the_integers():
    b = Builder()
    y = b.array("y", t.I64)
    lower, upper, step = (b.scalar(name, t.I64) for name in ("lower", "upper", "step"))

    def body(i, s):
        b.store(y, s, value=b.cast(t.I64, i), checked=False)
        return b.binary("add", s, b.index(1))

    zero = b.index(0)
    b.for_(typed.Extent(lower, upper, step), [zero], body, site=b.site("step"))
    compiled = Compiled(b.kernel())
    top, bottom = 2**63 - 1, -(2**63)
    for triple in [
        (top - 3, top, 1),
        (top - 2, top, 2),
        (bottom + 2, bottom, -1),
        (bottom, top, 2**62),
        (top, bottom, bottom),
        (0, top, top),
    ]:
        out = np.full(10, 77)
        assert compiled(out, *triple).code == 0
        want = list(range(*triple))
        assert out.tolist()[: len(want)] == want and set(out[len(want) :]) <= {77}, triple


def test_the_grid_of_three_dimensions_reaches_each_element_once_on_many_threads():
    b = Builder()
    y = b.array("y", t.I32, 3)

    def body(*indices):
        def step(_, value):
            return b.binary("mul", value, b.const(t.I32, 3))

        value = b.for_(b.extent(b.index(500)), [b.const(t.I32, 1)], step)  # so that chunks are small
        b.store(y, *indices, value=b.binary("add", b.load(y, *indices), value))

    b.grid([b.size(y, d) for d in range(3)], body)
    compiled = Compiled(b.kernel())
    for shape in ((7, 11, 13), (1, 1, 997), (997, 1, 1), (2, 333, 3), (0, 4, 4)):
        out = np.zeros(shape, np.int32)
        with threads(3):
            assert compiled(out).code == 0
        assert np.all(out == np.int32(pow(3, 500, 2**32) - 2**32 * (pow(3, 500, 2**32) >= 2**31)))


def test_views_of_views():
    """`y[i] = x[1:9:2, 1:][i, 2]`, rows and slices in turn."""
    b = Builder()
    x, y = b.array("x", t.F64, 2, borrow=t.Borrow.REF), b.array("y", t.F64)
    one, two, nine = b.index(1), b.index(2), b.index(9)
    inner = b.view(x, typed.Extent(one, nine, two), typed.Extent(one, b.size(x, 1), one))

    def body(i):
        row = b.view(inner, i, typed.Extent(b.index(0), b.size(inner, 1), b.index(1)))
        b.store(y, i, value=b.load(row, two))

    b.grid([b.size(inner, 0)], body)
    values, out = np.arange(40.0).reshape(10, 4), np.zeros(4)
    assert Compiled(b.kernel())(values, out).code == 0
    assert np.array_equal(out, values[1:9:2, 1:][:, 2])


def test_fields_of_records():
    inner = t.StructType("Inner", (("flag", t.BOOL_), ("z", t.COMPLEX64)))
    outer = t.StructType("Outer", (("a", t.U8), ("inner", inner), ("b", t.F64)))
    dtype = np.dtype(
        [("a", np.uint8), ("inner", np.dtype([("flag", np.bool_), ("z", np.complex64)], align=True)), ("b", np.float64)],
        align=True,
    )
    assert (dtype.itemsize, dtype.fields["b"][1]) == (outer.size, outer.offsets[2])
    b = Builder()
    x = b.array("x", outer)

    def body(i):
        z = b.load(x, i, path=(1, 1), type=t.COMPLEX64)
        b.store(x, i, path=(1, 1), value=b.binary("mul", z, z))
        b.store(x, i, path=(1, 0), value=b.unary("not", b.load(x, i, path=(1, 0), type=t.BOOL_)))
        b.store(x, i, path=(2,), value=b.cast(t.F64, b.load(x, i, path=(0,), type=t.U8)))

    b.grid([b.size(x)], body)
    records = np.zeros(5, dtype)
    records["a"], records["inner"]["z"] = np.arange(5), 1 + 2j
    assert Compiled(b.kernel())(records).code == 0
    assert (
        records["inner"]["flag"].all() and (records["inner"]["z"] == -3 + 4j).all() and records["b"].tolist() == [0, 1, 2, 3, 4]
    )


def test_a_local_array_is_zeroed_each_time_it_is_reached():
    b = Builder()
    y = b.array("y", t.F64)

    def body(i):
        def step(k, total):
            work = b.local(t.F64, 4, 3)
            one, two = b.index(1), b.index(2)
            found = b.load(work, one, two)
            b.store(work, one, two, value=b.const(t.F64, 1.0))
            return b.binary("add", total, b.binary("add", found, b.load(work, one, two)))

        b.store(y, i, value=b.for_(b.extent(b.index(10)), [b.const(t.F64, 0.0)], step))

    b.grid([b.size(y)], body)
    out = np.zeros(100)
    assert Compiled(b.kernel())(out).code == 0
    assert (out == 10).all()


def test_scalars_of_every_type_reach_a_region():
    types = list(t.SCALARS)
    b = Builder()
    arrays = [b.array(f"y{k}", type) for k, type in enumerate(types)]
    values = [b.scalar(f"a{k}", type) for k, type in enumerate(types)]

    def body(i):
        for array, value in zip(arrays, values):
            b.store(array, i, value=value)

    b.grid([b.size(arrays[0])], body)
    numpy = {**NUMPY, t.BF16: np.uint16}
    given = [True, *[3] * 8, 1.5, 0x3FC0, 2.5, 3.5, 1 + 2j, 3 + 4j]
    outs = [np.zeros(9, numpy[type]) for type in types]
    import hand_built

    hand_built.NUMPY[t.BF16] = np.uint16
    assert Compiled(b.kernel())(*outs, *given).code == 0
    for out, value in zip(outs, given):
        assert (out == value).all()


@pytest.mark.parametrize("level", ["grid", "host"])
def test_a_loop_that_carries_its_local_array_keeps_the_last_one_whole(level):
    """Rows of Pascal's triangle: each from the one before, which the loop carries."""
    b = Builder()
    y = b.array("y", t.I64, 2)

    def rows(i):
        one, zero = b.index(1), b.index(0)

        def row(k, previous):
            current = b.local(t.I64, 9)
            b.store(current, zero, value=b.const(t.I64, 1))

            def entry(j):
                left = b.load(previous, b.binary("sub", j, one))
                b.store(current, j, value=b.binary("add", left, b.load(previous, j)))

            b.for_(b.extent(b.index(9), one), [], entry)
            return current

        last = b.for_(b.extent(b.binary("add", i, one)), [b.local(t.I64, 9)], row)
        b.for_(b.extent(b.index(9)), [], lambda j: b.store(y, i, j, value=b.load(last, j)))

    if level == "grid":
        b.grid([b.index(9)], rows)
    else:
        b.for_(b.extent(b.index(9)), [], rows)
    out = np.zeros((9, 9), np.int64)
    assert Compiled(b.kernel())(out).code == 0
    want = np.zeros((9, 9), np.int64)
    want[:, 0] = 1
    for i in range(1, 9):
        want[i, 1:] = want[i - 1, 1:] + want[i - 1, :-1]
    assert np.array_equal(out, want)
