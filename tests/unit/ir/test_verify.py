"""Each invariant of the typed tree, broken once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tree_builder import TreeBuilder, saxpy

from lend.diagnostics.errors import InternalError
from lend.ir import typed
from lend.ir.typed import Extent, Reduction, Unchecked
from lend.ir.verify import flows, verify_kernel
from lend.language.signature import ResultLeaf, ResultTuple
from lend.language.types import (
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F16,
    F32,
    F64,
    I32,
    I64,
    INDEX,
    U8,
    Borrow,
    Layout,
    StructType,
    array_type,
)  # fmt: skip

PAIR = StructType("Pair", (("a", F32), ("b", StructType("Inner", (("c", I64),)))))


@pytest.fixture
def b():
    return TreeBuilder()


def check(b, *yields, dims=(), parameters=(), **more):
    verify_kernel(b.kernel("k", dims, parameters, *yields, **more))


def refused(words, b, *yields, **more):
    with pytest.raises(InternalError, match=words):
        check(b, *yields, **more)


def loop(b, threads=("i",), **more):
    """A parallel loop around what the caller adds."""
    extents = [b.extent(b.index(4)) for _ in threads]
    indices = [b.value(INDEX, name) for name in threads]
    return extents, indices


def test_saxpy_is_valid():
    verify_kernel(saxpy())


def test_the_error_says_whose_bug_it_is_and_where(b):
    b.at(7).unary("not", b.constant(1, I32))
    with pytest.raises(InternalError, match=r"this is a bug in lend: not of i32 .*kernels.py:7:1"):
        check(b)


# ------------------------------------------------------------------------------------------ 1. and 2.: values and kernels


def test_a_value_defined_twice(b):
    value = b.value(I32)
    b.add(typed.Constant(b.span, value, 1))
    b.add(typed.Constant(b.span, value, 2))
    refused("defined twice", b)


def test_a_value_defined_in_two_regions(b):
    value, condition = b.value(I32), b.constant(True, BOOL_)
    with b.region() as then:
        b.add(typed.Constant(b.span, value, 1))
    with b.region() as orelse:
        b.add(typed.Constant(b.span, value, 2))
    b.if_(condition, then, orelse)
    refused("defined twice", b)


def test_a_use_before_the_definition(b):
    late = b.value(F64)
    b.unary("neg", late)
    b.add(typed.Constant(b.span, late, 1.0))
    refused("not defined", b)


def test_a_use_outside_the_region_that_defines(b):
    condition = b.constant(True, BOOL_)
    with b.region() as then:
        inner = b.constant(1.0, F64)
    with b.region() as orelse:
        pass
    b.if_(condition, then, orelse)
    b.unary("neg", inner)
    refused("not defined", b)


def test_a_use_of_an_outer_value_in_a_region_is_fine(b):
    outer, condition = b.constant(1.0, F64), b.constant(True, BOOL_)
    with b.region() as then:
        b.unary("neg", outer)
    with b.region() as orelse:
        pass
    b.if_(condition, then, orelse)
    check(b)


def test_a_dim_that_is_no_index(b):
    refused("a dim of type", b, dims=[b.value(I64, "N")])


def test_a_parameter_lent_as_owned(b):
    refused("lent as owned", b, parameters=[b.array("x", F64, borrow=Borrow.OWNED)])


def test_yields_must_be_the_result(b):
    one = b.constant(1.0, F64)
    check(b, one, result=ResultTuple((ResultLeaf(F64),)))
    refused("yield of the kernel", b, one, result=ResultLeaf(F32))
    refused("yield of the kernel", b, one, result=ResultTuple((ResultLeaf(F64), ResultLeaf(F64))))


# ------------------------------------------------------------------------------------------------------- 3. to 7.: scalars


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (BOOL_, 1),
        (I32, True),
        (I32, 1.0),
        (U8, 256),
        (U8, -1),
        (F32, 0.1),
        (F64, 1),
        (F16, 65520.0),
        (COMPLEX64, 0.1j),
        (COMPLEX128, 1.0),
    ],
    ids=str,
)
def test_a_constant_that_its_type_does_not_hold(b, type, value):
    b.constant(value, type)
    refused("no constant of type", b)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (BOOL_, True),
        (U8, 255),
        (INDEX, -1),
        (F32, 0.5),
        (F32, math.nan),
        (F16, math.inf),
        (COMPLEX64, 0.5 + 2j),
        (COMPLEX128, 0.1j),
    ],
    ids=str,
)
def test_a_constant_that_its_type_holds(b, type, value):
    b.constant(value, type)
    check(b)


@pytest.mark.parametrize(
    ("operator", "type", "value"), [("not", I32, 1), ("neg", BOOL_, True), ("abs", BOOL_, True), ("invert", F32, 1.0)], ids=str
)
def test_a_unary_operator_of_the_wrong_type(b, operator, type, value):
    b.unary(operator, b.constant(value, type))
    refused(f"{operator} of {type}", b)


def test_the_magnitude_of_a_complex_number_is_real(b):
    z = b.constant(1j, COMPLEX64)
    b.unary("abs", z, type=F32)
    check(b)
    b.unary("abs", z)
    refused("should be f32", b)


def test_operands_of_two_types(b):
    b.binary("add", b.constant(1, I32), b.constant(1, I64))
    refused("add of i32 and i64", b)


@pytest.mark.parametrize(
    ("operator", "type", "value"),
    [("div", I32, 1), ("and", F64, 1.0), ("shl", F64, 1.0), ("add", BOOL_, True), ("lt", COMPLEX64, 1j), ("mod", COMPLEX64, 1j)],
    ids=str,
)
def test_a_binary_operator_of_the_wrong_type(b, operator, type, value):
    one = b.constant(value, type)
    b.binary(operator, one, one)
    refused(f"{operator} of {type}", b)


def test_a_comparison_gives_a_bool(b):
    one = b.constant(1.0, F64)
    b.add(typed.Binary(b.span, b.value(F64), "lt", one, one))
    refused("should be bool_", b)


@pytest.mark.parametrize(
    ("operator", "kind"), [("floordiv", "division"), ("mod", "division"), ("shl", "shift"), ("pow", "exponent")]
)
def test_an_integer_operation_that_may_fail_has_its_site(operator, kind):
    b = TreeBuilder()
    n = b.value(I64, "n")
    b.binary(operator, n, n, site=b.site(kind))
    check(b, parameters=[n])
    b.binary(operator, n, n)
    refused("has no site", b, parameters=[n])
    b = TreeBuilder()
    b.binary(operator, b.constant(5, I64), b.constant(3, I64))
    check(b)


def test_an_unsigned_shift_needs_no_site(b):
    n = b.value(U8, "n")
    b.binary("shl", n, n)
    check(b, parameters=[n])
    b.binary("mod", n, n)
    refused("has no site", b, parameters=[n])


def test_an_operation_that_cannot_fail_has_no_site(b):
    one = b.constant(1.0, F64)
    b.binary("floordiv", one, one, site=b.site("division"))
    refused("has a site", b)


def test_mathematical_functions_of_the_wrong_arguments(b):
    one, two, z, n = b.constant(1.0, F64), b.constant(1.0, F32), b.constant(1j, COMPLEX64), b.constant(1, I32)
    valid = b.operations
    for function, arguments, type, words in (
        ("sqrt", (one, one), F64, "sqrt of 2"), ("hypot", (one, two), F64, "several types"), ("sqrt", (n,), I32, "sqrt of i32"),
        ("erf", (z,), COMPLEX64, "erf of complex64"),
        ("isnan", (one,), F64, "should be bool_"), ("real", (z,), COMPLEX64, "should be f32"),
        ("real", (one,), F64, "real of f64"), ("popcount", (one,), F64, "popcount of f64"), ("frob", (one,), F64, "frob of f64"),
        ("complex", (one, one), COMPLEX64, "complex of f64"),
        ("pow", (one, one), F64, "pow of 2"), ("sqrt", (one,), F32, "should be f64"),
    ):  # fmt: skip
        b.operations = list(valid)
        b.math(function, *arguments, type=type)
        refused(words, b)
    b.operations = list(valid)
    for function, arguments, type in (
        ("sqrt", (z,), COMPLEX64), ("imag", (z,), F32), ("complex", (two, two), COMPLEX64), ("fma", (one, one, one), F64),
        ("isinf", (z,), BOOL_), ("signbit", (one,), BOOL_), ("popcount", (n,), I32),
    ):  # fmt: skip
        b.math(function, *arguments, type=type)
    check(b)


def test_a_complex_number_is_not_cast_to_a_real_one(b):
    z = b.constant(1j, COMPLEX64)
    b.cast(z, COMPLEX128)
    b.cast(z, BOOL_)
    check(b)
    b.cast(z, F32)
    refused("a cast from complex64 to f32", b)


# ------------------------------------------------------------------------------------------------------ 8. to 12.: arrays


def test_subscripts_as_many_as_dimensions(b):
    x, i = b.array("x", F64, 2), b.index(0)
    b.load(x, i)
    refused("1 subscripts", b, parameters=[x])


def test_a_subscript_is_an_index(b):
    x = b.array("x", F64)
    b.load(x, b.constant(1, I64))
    check(b, parameters=[x])
    b.load(x, b.constant(1, I32))
    refused("is no index", b, parameters=[x])


def test_a_path_ends_in_a_scalar(b):
    x, i = b.array("x", PAIR), b.index(0)
    b.load(x, i, path=(0,))
    b.store(x, (i,), b.constant(1, I64), path=(1, 0))
    check(b, parameters=[x])
    for path, words in (((1,), "an element Inner"), ((2,), "no field 2"), ((0, 0), "no field 0 in f32"), ((), "an element Pair")):
        again = TreeBuilder()
        j = again.index(0)
        again.add(typed.Load(again.span, again.value(F32), x, (j,), path, again.site("bounds")))
        refused(words, again, parameters=[x])


def test_a_load_gives_the_elements_type(b):
    x, i = b.array("x", F32), b.index(0)
    b.add(typed.Load(b.span, b.value(F64), x, (i,), (), b.site("bounds")))
    refused("an element f32 and a value f64", b, parameters=[x])


def test_a_store_through_a_shared_borrow(b):
    x, i = b.array("x", F64, borrow=Borrow.REF), b.index(0)
    b.store(x, (i,), b.constant(1.0, F64))
    refused("a store into", b, parameters=[x])


def test_an_access_without_a_site_needs_an_unchecked_block(b):
    x, i = b.array("x", F64), b.index(0)
    b.load(x, i, checked=False)
    check(b, parameters=[x], unchecked=[Unchecked(b.span, "measured")])
    refused("outside lend.unchecked", b, parameters=[x])


def test_conditions_are_bools(b):
    one = b.constant(1, I32)
    with b.region() as then:
        pass
    with b.region() as orelse:
        pass
    b.if_(one, then, orelse)
    refused("is not bool_", b)


def test_the_size_of_a_dimension_that_is_not_there(b):
    x = b.array("x", F64)
    b.size(x, 0)
    check(b, parameters=[x])
    b.size(x, 1)
    refused("dimension 1", b, parameters=[x])


def test_views_keep_elements_rights_and_alignment(b):
    x = b.array("x", F64, 2, Borrow.REF, Layout.UNALIGNED)
    i = b.index(0)
    extent = b.extent(b.index(2))
    valid = b.operations
    b.view(x, i, extent, layout=Layout.UNALIGNED)
    check(b, parameters=[x])
    for parts, type, words in (
        ((i,), array_type(F64, 1, Borrow.REF, Layout.UNALIGNED), "1 parts"),
        ((i, i), array_type(F64, 1, Borrow.REF, Layout.UNALIGNED), "without dimensions"),
        ((i, extent), array_type(F64, 2, Borrow.REF, Layout.UNALIGNED), "views"),
        ((i, extent), array_type(F32, 1, Borrow.REF, Layout.UNALIGNED), "views"),
        ((i, extent), array_type(F64, 1, Borrow.MUT, Layout.UNALIGNED), "views"),
        ((i, extent), array_type(F64, 1, Borrow.REF, Layout.STRIDED), "views"),
    ):
        b.operations = list(valid)
        b.add(typed.View(b.span, b.value(type), x, parts, b.site("bounds")))
        refused(words, b, parameters=[x])


def test_reshapes_keep_the_layout(b):
    x = b.array("x", F64, 2, layout=Layout.F)
    n = b.index(4)
    valid = b.operations
    sites = b.site("shape"), b.site("view")
    for layout, words in ((Layout.STRIDED, None), (Layout.F, "is reshaped to"), (Layout.C, "is reshaped to")):
        b.operations = list(valid)
        b.add(typed.Reshape(b.span, b.value(array_type(F64, 1, Borrow.MUT, layout)), x, (n,), *sites))
        if words:
            refused(words, b, parameters=[x])
        else:
            check(b, parameters=[x])


def test_new_arrays_are_owned_and_row_major(b):
    n = b.index(4)
    b.allocate(F64, n, n)
    b.local(F64, 2, 2)
    check(b)
    b.add(typed.Local(b.span, b.array("t", F64), (2,)))
    refused("a new array of type Mut", b)


def test_a_local_array_of_negative_size(b):
    b.local(F64, -1)
    refused("a local array of sizes", b)


def test_sizes_as_many_as_dimensions(b):
    b.add(typed.Local(b.span, b.array("t", F64, 2, Borrow.OWNED), (2,)))
    refused("1 sizes", b)


# -------------------------------------------------------------------------------------------- 13. to 17.: control flow


@pytest.mark.parametrize("what", ["allocate", "reshape", "require", "parallel"])
def test_host_level_operations_inside_a_parallel_loop(b, what):
    x, n = b.array("x", F64), b.index(4)
    yes = b.constant(True, BOOL_)
    (extent,), (i,) = loop(b)
    with b.inside("i"), b.region(i) as body:
        if what == "allocate":
            b.allocate(F64, n)
        elif what == "reshape":
            b.reshape(x, n)
        elif what == "require":
            b.require(yes, b.site("contract"))
        else:
            with b.region(b.value(INDEX, "j")) as inner:
                pass
            b.parallel([extent], inner)
    b.parallel([extent], body)
    refused("host level", b, parameters=[x])


def test_branches_yield_the_results(b):
    yes, one = b.constant(True, BOOL_), b.constant(1.0, F64)
    with b.region() as then:
        then.yields = (one,)
    with b.region() as orelse:
        orelse.yields = ()
    b.if_(yes, then, orelse, b.value(F64))
    refused("the yield of a branch: 0 values for 1", b)


def test_a_branch_with_parameters(b):
    yes = b.constant(True, BOOL_)
    with b.region(b.value(F64)) as then:
        pass
    b.if_(yes, then, then)
    refused("a branch with parameters", b)


def carrying(b, parameter, init, result, yields, stops=False):
    extent = b.extent(b.index(4))
    with b.region(b.value(INDEX, "k"), *parameter) as body:
        body.yields = yields
    b.for_(extent, init, body, *result, stops=stops)


def test_a_loop_carries_what_it_gives(b):
    one, yes = b.constant(1.0, F64), b.constant(True, BOOL_)
    valid = b.operations
    carrying(b, [b.value(F64)], [one], [b.value(F64)], (yes, one), stops=True)
    check(b)
    for parameter, init, result, yields, stops, words in (
        ([b.value(F32)], [one], [b.value(F64)], (one,), False, "loop parameters"),
        ([], [one], [b.value(F64)], (one,), False, "loop parameters"),
        ([b.value(F64)], [yes], [b.value(F64)], (one,), False, "a carried value: bool_ becomes f64"),
        ([b.value(F64)], [one], [b.value(F64)], (yes,), False, "the yield of a loop: bool_ becomes f64"),
        ([b.value(F64)], [one], [b.value(F64)], (one,), True, "the yield of a loop: 1 values for 2"),
        ([b.value(F64)], [one], [b.value(F64)], (one, one), True, "f64 becomes bool_"),
    ):
        b.operations = list(valid)
        carrying(b, parameter, init, result, yields, stops)
        refused(words, b)


def test_a_for_loop_begins_with_its_index(b):
    extent = b.extent(b.index(4))
    with b.region() as body:
        pass
    b.for_(extent, [], body)
    refused("loop parameters", b)


def test_a_while_condition_yields_one_bool(b):
    one = b.constant(1.0, F64)
    with b.region(b.value(F64)) as test:
        test.yields = (one,)
    with b.region(b.value(F64)) as body:
        body.yields = (one,)
    b.while_([one], test, body, b.value(F64))
    refused("the yield of a condition", b)


def test_a_while_condition_has_the_carried_parameters(b):
    one, yes = b.constant(1.0, F64), b.constant(True, BOOL_)
    with b.region() as test:
        test.yields = (yes,)
    with b.region(b.value(F64)) as body:
        body.yields = (one,)
    b.while_([one], test, body, b.value(F64))
    refused("loop parameters", b)


def test_a_call_passes_what_the_function_takes(b):
    one = b.constant(1.0, F64)
    p = b.value(F64, "p")
    with b.region(p) as body:
        body.yields = (p,)
    b.call("f", "lib.py", [one], body, b.value(F64))
    check(b)
    b.call("f", "lib.py", [], body, b.value(F64))
    refused("an argument of f: 0 values for 1", b)


def test_arrays_flow_where_less_is_claimed():
    def lent(borrow, layout, element=F64, dimensions=1):
        return array_type(element, dimensions, borrow, layout)

    mut, ref, owned = Borrow.MUT, Borrow.REF, Borrow.OWNED
    assert flows(lent(mut, Layout.C), lent(mut, Layout.C))
    assert flows(lent(mut, Layout.C), lent(ref, Layout.STRIDED))
    assert flows(lent(owned, Layout.C), lent(mut, Layout.UNALIGNED))
    assert not flows(lent(ref, Layout.C), lent(mut, Layout.C))
    assert not flows(lent(ref, Layout.STRIDED), lent(ref, Layout.C))
    assert not flows(lent(ref, Layout.UNALIGNED), lent(ref, Layout.STRIDED))
    assert not flows(lent(ref, Layout.C, F32), lent(ref, Layout.C))
    assert not flows(lent(ref, Layout.C, F64, 2), lent(ref, Layout.C))
    assert not flows(F64, F32)
    assert not flows(INDEX, I64)


def test_a_step_that_may_be_zero_has_a_site(b):
    n = b.value(INDEX, "n")
    with b.region(b.value(INDEX, "k")) as body:
        pass
    b.for_(Extent(n, n, n), [], body, site=b.site("step"))
    check(b, dims=[n])
    with b.region(b.value(INDEX, "k")) as body:
        pass
    b.for_(Extent(n, n, n), [], body)
    refused("may be zero has no site", b, dims=[n])


def test_a_constant_step_of_zero(b):
    n = b.value(INDEX, "n")
    extent = Extent(n, n, b.index(0))
    with b.region(b.value(INDEX, "i")) as body:
        pass
    b.parallel([extent], body)
    refused("may be zero has no site", b, dims=[n])


def test_a_box_of_seven_extents(b):
    extents, indices = loop(b, tuple("ijklmno"))
    with b.region(*indices) as body:
        pass
    b.parallel(extents, body)
    refused("a box of 7 extents", b)


def test_reductions_have_an_operator_of_their_type(b):
    one, n = b.constant(1.0, F64), b.constant(1, I64)
    (extent,), _ = loop(b)
    valid = b.operations
    for operator, inits, works in (
        ("add", (one,), True), ("min", (one, n), True), ("sub", (one,), False), ("xor", (one,), False), ("add", (one, n), False),
        ("pow", (one,), False),
    ):  # fmt: skip
        b.operations = list(valid)
        with b.region(b.value(INDEX, "i"), *(b.value(v.type) for v in inits)) as body:
            body.yields = inits
        b.parallel([extent], body, *(b.value(v.type) for v in inits), reductions=[Reduction(operator, inits)])
        if works:
            check(b)
        else:
            refused("a reduction by", b)


def test_reductions_have_parameters_yields_and_results(b):
    one = b.constant(1.0, F64)
    (extent,), (i,) = loop(b)
    with b.region(i) as body:
        pass
    b.parallel([extent], body, b.value(F64), reductions=[Reduction("add", (one,))])
    refused("loop parameters", b)


# ---------------------------------------------------------------------------------------------------------- 18.: sites


def test_a_site_out_of_range(b):
    n = b.value(I64, "n")
    b.binary("mod", n, n, site=3)
    refused("there is no site 3", b, parameters=[n])


def test_a_site_of_another_kind(b):
    n = b.value(I64, "n")
    b.binary("mod", n, n, site=b.site("shift"))
    refused("of kind shift, not division", b, parameters=[n])


def test_a_site_names_its_threads(b):
    x = b.array("x", F64)
    (extent,), (i,) = loop(b)
    with b.region(i) as body:
        b.load(x, i)
    b.parallel([extent], body)
    refused("names 0 threads of 1", b, parameters=[x])


# ---------------------------------------------------------------------------------------------------- facts about sizes


def test_sizes_are_as_many_as_dimensions_and_known(b):
    n, x = b.value(INDEX, "N"), b.array("x", F64)
    more = b.binary("add", n, b.index(1))
    kernel = b.kernel("k", [n], [x])

    def with_sizes(*sizes):
        return replace(kernel, parameters=(typed.Parameter("x", x, sizes),))

    for sizes in ((), (n,), (more,), (3,)):
        verify_kernel(with_sizes(*sizes))
    for sizes, words in (((n, n), "sizes of x"), ((b.value(INDEX),), "not defined"), ((x,), "sizes of x")):
        with pytest.raises(InternalError, match=words):
            verify_kernel(with_sizes(*sizes))


def test_facts_are_about_lent_integers_and_a_known_bound(b):
    n, count = b.value(INDEX, "N"), b.value(I64, "count")
    lent = {borrow: b.value(array_type(I32, 1, borrow, Layout.C), "p") for borrow in (Borrow.REF, Borrow.MUT)}
    floats = b.value(array_type(F32, 1, Borrow.REF, Layout.C), "x")
    kernel = b.kernel("k", (n,), (*lent.values(), floats, count))

    def with_facts(value, *index):
        others = [p for p in kernel.parameters if p.value is not value]
        return replace(kernel, parameters=(typed.Parameter("p", value, (), index), *others))

    for index in (("index", n), ("unique", 5), ("offsets", n)):
        verify_kernel(with_facts(lent[Borrow.REF], *index))
    wrong = (
        (lent[Borrow.MUT], "index", n, "indices in"),
        (floats, "index", n, "indices in"),
        (count, "index", n, "indices in"),
        (lent[Borrow.REF], "sorted", n, "facts called sorted"),
        (lent[Borrow.REF], "index", b.value(INDEX), "not defined"),
    )
    for value, kind, bound, words in wrong:
        with pytest.raises(InternalError, match=words):
            verify_kernel(with_facts(value, kind, bound))


def test_a_test_says_something_about_integers_that_are_there(b):
    n = b.value(INDEX, "N")
    indices, floats = b.allocate(I32, n), b.allocate(F32, n)
    fine = b.binary("eq", n, n)
    kernel = b.kernel("k", [n], [])

    def saying(*facts):
        require = typed.Require(b.span, fine, len(kernel.sites), facts=facts)
        body = replace(kernel.body, operations=(*kernel.body.operations, require))
        return replace(kernel, body=body, sites=(*kernel.sites, kernel.sites[0]))

    verify_kernel(saying(indices, "unique", n))
    for facts in ((floats, "unique", n), (indices, "sorted", n), (indices, "unique", fine), (b.value(INDEX), "unique", n)):
        with pytest.raises((InternalError, AssertionError)):
            verify_kernel(saying(*facts))


def test_contracts_are_bools_over_what_is_known_at_the_start(b):
    n = b.value(INDEX, "N")
    kernel = b.kernel("k", [n], [])
    with b.region() as facts:
        facts.yields = (b.binary("gt", n, b.index(0)),)
    verify_kernel(replace(kernel, contracts=facts.region))
    with b.region() as facts:
        facts.yields = (n,)
    with pytest.raises(InternalError, match="the contracts"):
        verify_kernel(replace(kernel, contracts=facts.region))
