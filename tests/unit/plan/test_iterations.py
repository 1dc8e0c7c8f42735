"""How many iterations a kernel runs, as far as its sizes say."""

from hand_built import Builder, t

from lend.plan.iterations import iteration_bounds


def test_each_loop_is_bounded_by_its_sizes():
    b = Builder()
    n, m, a, x = b.dim("N"), b.dim("M"), b.scalar("a", t.F64), b.array("x", t.F64)
    b.grid([n], lambda i: b.store(x, i, value=a))
    b.grid([m, b.const(t.INDEX, 7), n], lambda i, j, k: b.store(x, i, value=a))
    assert iteration_bounds(b.kernel()) == (((0, 0),), ((1, 0), (None, 7), (0, 0)))


def test_sums_with_constants_are_followed():
    b = Builder()
    n, a, x = b.dim("N"), b.scalar("a", t.F64), b.array("x", t.F64)
    less = b.binary("sub", b.binary("add", n, b.const(t.INDEX, 5)), b.const(t.INDEX, 7))
    b.grid([less], lambda i: b.store(x, i, value=a))
    assert iteration_bounds(b.kernel()) == (((0, -2),),)


def test_a_scalar_decides_alone_how_long_a_loop_is():
    b = Builder()
    b.dim("N")
    a, x, count = b.scalar("a", t.F64), b.array("x", t.F64), b.scalar("count", t.INDEX)
    b.grid([count], lambda i: b.store(x, i, value=a))
    assert iteration_bounds(b.kernel()) is None


def test_other_loops_have_no_bound_even_inside():
    b = Builder()
    n, a, x = b.dim("N"), b.scalar("a", t.F64), b.array("x", t.F64)
    b.grid([n], lambda i: b.for_(b.extent(n), [], lambda k: b.store(x, k, value=a)))
    assert iteration_bounds(b.kernel()) is None


def test_a_product_of_sizes_is_no_bound():
    b = Builder()
    n, a, x = b.dim("N"), b.scalar("a", t.F64), b.array("x", t.F64)
    b.grid([b.binary("mul", n, n)], lambda i: b.store(x, i, value=a))
    assert iteration_bounds(b.kernel()) is None
