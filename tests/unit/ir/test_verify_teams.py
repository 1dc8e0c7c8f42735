"""Each invariant of the team level's nodes and of atomics, broken once."""

from __future__ import annotations

import pytest
from tree_builder import TreeBuilder

from lend.diagnostics.errors import InternalError
from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.print import print_kernel
from lend.ir.typed import Extent, Reduction
from lend.ir.verify import flows, verify_kernel
from lend.language.types import BOOL_, F32, F64, I16, I32, I64, INDEX, U64, Borrow, Layout, array_type


@pytest.fixture
def b():
    return TreeBuilder()


def check(b, *parameters):
    verify_kernel(b.kernel("k", (), parameters))


def refused(words, b, *parameters):
    with pytest.raises(InternalError, match=words):
        check(b, *parameters)


def blocks(b, fill, *, reductions=(), results=(), extents=1):
    """`Blocks` around what `fill` adds; it is given the block's index and gives what the region yields."""
    box = tuple(b.extent(b.index(4)) for _ in range(extents))
    indices = [b.value(INDEX, f"b{k}") for k in range(extents)]
    values = [b.value(init.type) for reduction in reductions for init in reduction.inits]
    outer, b.threads = b.threads, tuple(index.name for index in indices)
    with b.region(*indices, *values) as body:
        body.yields = fill(indices[0], *values) or ()
    b.threads = outer
    return b.add(typed.Blocks(b.span, tuple(results), box, tuple(reductions), body.region, None))


def threads(b, fill, *, sizes=(32,), reductions=(), results=()):
    """`Threads` around what `fill` adds, as in `blocks`."""
    indices = [b.value(INDEX, f"t{k}") for k in range(len(sizes))]
    values = [b.value(init.type) for reduction in reductions for init in reduction.inits]
    outer, b.threads = b.threads, (*b.threads, *(index.name for index in indices))
    with b.region(*indices, *values) as body:
        body.yields = fill(indices[0], *values) or ()
    b.threads = outer
    return b.add(typed.Threads(b.span, tuple(results), sizes, tuple(reductions), body.region))


def in_threads(b, fill, **more):
    blocks(b, lambda _: threads(b, fill, **more) and ())


def shared(b, element=F32, *sizes, borrow=Borrow.OWNED, layout=Layout.C):
    sizes = sizes or (4,)
    result = b.value(array_type(element, len(sizes), borrow, layout), "s")
    return b.add(typed.Shared(b.span, result, sizes))


def atomic(b, operator, array, *indices, value=None, expected=None, order="relaxed", type=None):
    site = b.site("bounds", array=array.name, access="write")
    result = b.value(type or array.array.element)
    return b.add(typed.Atomic(b.span, result, operator, array, indices, value, expected, order, site))


def subgroup(b, operator, value, *, size=32, lane=None, type=None, results=1):
    values = tuple(b.value(type or value.type) for _ in range(results))
    return b.add(typed.Subgroup(b.span, values, operator, size, value, lane))


def sync(b):
    b.add(typed.Sync(b.span))


# -------------------------------------------------------------------------------------------------------- what is right


def right(b):
    """A kernel with every node of the team level."""
    h, x = b.array("h", I32, 2, Borrow.ATOMIC), b.array("x", F32)
    zero = b.constant(0.0, F32)

    def thread(t, s):
        v = b.load(x, t)
        sync(b)
        v = subgroup(b, "shuffle", v, lane=b.constant(3, I32))
        subgroup(b, "ballot", b.binary("gt", v, v), type=U64)
        b.add(typed.Subgroup(b.span, (), "sync", 32, None, None))
        v = subgroup(b, "scan_add", v)
        atomic(b, "compare_exchange", h, t, t, value=b.constant(1, I32), expected=b.constant(0, I32), order="acq_rel")
        return (b.binary("add", s, v),)

    def block(_, total):
        shared(b, F32, 4, 4)
        shared(b, I64, 8, borrow=Borrow.ATOMIC)
        start = b.constant(0.0, F32)
        part = threads(b, thread, sizes=(8, 2, 2), reductions=[Reduction("add", (start,))], results=[b.value(F32)])
        return (b.binary("add", total, part),)

    blocks(b, block, extents=3, reductions=[Reduction("add", (zero,))], results=[b.value(F32, "total")])
    return b.kernel("k", (), (h, x))


def test_a_kernel_of_blocks_is_valid_and_prints(b):
    kernel = right(b)
    verify_kernel(kernel)
    text = print_kernel(kernel)
    for line in (
        "shared 4, 4",
        "sync",
        "subgroup shuffle 32 ",
        "subgroup sync 32\n",
        "atomic compare_exchange %h[%t0, %t0] if ",
        " acq_rel !",
        "threads %t0: index, %t1: index, %t2: index in 8, 2, 2 reduce (",
        "blocks %b0: index, %b1: index, %b2: index in ",
        "bounds write of h in b0, b1, b2, t0, t1, t2",
    ):
        assert line in text


def test_a_clone_of_blocks_is_another_tree_with_the_same_text(b):
    kernel = right(b)
    (operation,) = [o for o in kernel.body.operations if isinstance(o, typed.Blocks)]
    again = clone(operation, {})
    assert isinstance(again, typed.Blocks)
    assert not set(again.body.parameters) & set(operation.body.parameters)
    rest = [o for o in kernel.body.operations if o is not operation]
    copy = typed.Region((), (*rest, again), ())
    text = print_kernel(typed.Kernel(kernel.span, "k", (), kernel.parameters, copy, None, kernel.sites, (), "strict"))
    assert text == print_kernel(kernel).replace("math=default", "math=strict")


# ------------------------------------------------------------------------------------------------------- levels, 13 and 20


def test_threads_at_host_level(b):
    threads(b, lambda t: None)
    refused("at host level", b)


def test_threads_in_threads(b):
    in_threads(b, lambda t: threads(b, lambda u: None) and ())
    refused("at thread level", b)


def test_blocks_in_blocks(b):
    blocks(b, lambda i: blocks(b, lambda j: None) and ())
    refused("operation of the host level", b)


def test_shared_in_threads(b):
    in_threads(b, lambda t: shared(b) and ())
    refused("at thread level", b)


def test_sync_at_block_level(b):
    blocks(b, lambda i: sync(b))
    refused("at block level", b)


def test_a_store_at_block_level(b):
    x = b.array("x", F32)
    blocks(b, lambda i: b.store(x, (i,), b.constant(0.0, F32)) and ())
    refused("at block level", b, x)


def test_an_atomic_at_block_level(b):
    h = b.array("h", I32, borrow=Borrow.ATOMIC)
    blocks(b, lambda i: atomic(b, "load", h, i) and ())
    refused("at block level", b, h)


def test_a_local_array_at_block_level(b):
    blocks(b, lambda i: b.local(F32, 4) and ())
    refused("at block level", b)


def test_sites_of_threads_name_all_indices(b):
    x = b.array("x", F32)

    def short(t):
        b.threads = ("t0",)
        b.load(x, t)

    in_threads(b, short)
    refused("names 1 threads of 2", b, x)


@pytest.mark.parametrize("sizes", [(0,), (2048,), (32, 64), (1, 1, 1, 1), ()])
def test_sizes_of_threads(b, sizes):
    if sizes:
        in_threads(b, lambda t: None, sizes=sizes)
    else:
        with b.region() as body:
            pass
        with b.region(b.value(INDEX)) as outer:
            b.add(typed.Threads(b.span, (), (), (), body.region))
        one = b.index(1)
        b.add(typed.Blocks(b.span, (), (Extent(b.index(0), one, one),), (), outer.region, None))
    refused("threads of sizes", b)


def test_four_extents_of_blocks(b):
    blocks(b, lambda i: None, extents=4)
    refused("4 extents of blocks", b)


def test_a_reduction_of_threads_that_yields_another_type(b):
    def block(_):
        start = b.constant(0.0, F32)
        reductions = [Reduction("add", (start,))]
        threads(b, lambda t, s: (b.constant(0.0, F64),), reductions=reductions, results=[b.value(F32)])

    blocks(b, block)
    refused("the yield of the threads of a block", b)


# ---------------------------------------------------------------------------------------------------------- 21. and 22.


def test_shared_arrays_are_owned_or_atomic_and_row_major(b):
    blocks(b, lambda i: shared(b, layout=Layout.STRIDED) and ())
    refused("a new array of type", b)


def test_atomics_of_other_elements(b):
    blocks(b, lambda i: shared(b, I16, borrow=Borrow.ATOMIC) and ())
    refused("an array of type Atomic", b)


def test_an_atomic_parameter_of_bools(b):
    refused("an array of type Atomic", b, b.array("h", BOOL_, borrow=Borrow.ATOMIC))


def test_a_plain_load_from_an_atomic(b):
    h = b.array("h", I32, borrow=Borrow.ATOMIC)
    b.load(h, b.index(0))
    refused("a plain load", b, h)


def test_a_plain_store_into_an_atomic(b):
    h = b.array("h", I32, borrow=Borrow.ATOMIC)
    b.store(h, (b.index(0),), b.constant(1, I32))
    refused("a store into", b, h)


def test_an_atomic_operation_on_another_array(b):
    h = b.array("h", I32)
    atomic(b, "load", h, b.index(0))
    refused("an atomic operation on Mut", b, h)


def test_atomics_flow_into_atomics_only():
    kinds = {borrow: array_type(I32, 1, borrow, Layout.C) for borrow in Borrow}
    assert flows(kinds[Borrow.ATOMIC], kinds[Borrow.ATOMIC])
    assert flows(kinds[Borrow.OWNED], kinds[Borrow.ATOMIC])
    assert not flows(kinds[Borrow.ATOMIC], kinds[Borrow.MUT])
    assert not flows(kinds[Borrow.ATOMIC], kinds[Borrow.REF])
    assert not flows(kinds[Borrow.REF], kinds[Borrow.ATOMIC])


@pytest.mark.parametrize(
    ("operator", "parts", "words"),
    [
        ("load", {"value": True}, "the value of load"),
        ("add", {}, "the value of add"),
        ("add", {"value": True, "expected": True}, "what add expects"),
        ("compare_exchange", {"value": True}, "what compare_exchange expects"),
        ("load", {"order": "release"}, "load release"),
        ("store", {"value": True, "order": "acquire"}, "store acquire"),
        ("add", {"value": True, "type": I64}, "an element i32 and a value i64"),
    ],
)
def test_parts_of_an_atomic_operation(b, operator, parts, words):
    h, one = b.array("h", I32, borrow=Borrow.ATOMIC), b.constant(1, I32)
    atomic(b, operator, h, b.index(0), **{k: one if v is True else v for k, v in parts.items()})
    refused(words, b, h)


def test_bits_of_atomic_floats(b):
    h = b.array("h", F32, borrow=Borrow.ATOMIC)
    atomic(b, "or", h, b.index(0), value=b.constant(1.0, F32))
    refused("or relaxed of", b, h)


def test_an_atomic_operation_with_too_few_subscripts(b):
    h = b.array("h", I32, 2, Borrow.ATOMIC)
    atomic(b, "load", h, b.index(0))
    refused("1 subscripts", b, h)


# -------------------------------------------------------------------------------------------------------------- 23.


@pytest.mark.parametrize(
    ("operator", "type", "more", "words"),
    [
        ("reduce_add", F32, {"size": 12}, "sub-groups of 12"),
        ("reduce_add", F32, {"size": 64}, "sub-groups of 64"),
        ("reduce_add", F32, {"results": 0}, "results of reduce_add"),
        ("reduce_and", F32, {}, "reduce_and of f32"),
        ("scan_add", BOOL_, {}, "scan_add of bool_"),
        ("ballot", I32, {"type": U64}, "a ballot of i32"),
        ("ballot", BOOL_, {}, "should be u64"),
        ("shuffle", F32, {}, "the lane of shuffle"),
        ("shuffle_xor", F32, {"lane": I64}, "a lane of type i64"),
        ("reduce_add", F32, {"type": F64}, "should be f32"),
    ],
)
def test_operations_of_sub_groups(b, operator, type, more, words):
    def thread(_):
        value = b.constant({F32: 1.0, BOOL_: True}.get(type, 1), type)
        given = dict(more)
        if "lane" in given:
            given["lane"] = b.constant(1, given["lane"])
        subgroup(b, operator, value, **given)

    in_threads(b, thread)
    refused(words, b)


def test_a_sub_group_at_block_level(b):
    blocks(b, lambda i: subgroup(b, "reduce_add", b.constant(1.0, F32)) and ())
    refused("at block level", b)
