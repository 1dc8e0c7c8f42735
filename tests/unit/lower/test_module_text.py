"""What stands in a lowered module, before LLVM optimises it."""

import llvmlite.binding as llvm
import pytest
from hand_built import Builder, t

from lend.lower.module import lower
from lend.plan.regions import plan


def saxpy(checked=True, layout=t.Layout.C, dimensions=1):
    b = Builder()
    sizes = [b.dim(name) for name in "NMK"[:dimensions]]
    a = b.scalar("a", t.F32)
    x = b.array("x", t.F32, dimensions, layout, t.Borrow.REF)
    y = b.array("y", t.F32, dimensions, layout)

    def body(*indices):
        old = b.load(y, *indices, checked=checked)
        product = b.binary("mul", a, b.load(x, *indices, checked=checked))
        b.store(y, *indices, value=b.binary("add", old, product), checked=checked)

    b.grid(sizes, body)
    return b.kernel()


def region_text(text, number=0):
    """The definition of one region."""
    start = text.index(f"define internal void @region_{number}(")
    return text[start : text.index("\n}", start)]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("layout", list(t.Layout))
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_llvm_accepts_every_layout(checked, layout, dimensions):
    text = lower(plan(saxpy(checked, layout, dimensions)))
    llvm.parse_assembly(text, llvm.create_context()).verify()


def test_an_unchecked_access_has_no_test_and_a_checked_one_is_unlikely_to_fail():
    unchecked, checked = (lower(plan(saxpy(checked))) for checked in (False, True))
    assert "lend_fault" not in unchecked
    assert region_text(checked).count("call void @lend_fault") == 2  # the store's test is the first load's
    assert "!prof" in region_text(checked)


def test_a_one_dimensional_region_is_exactly_one_loop():
    assert region_text(lower(plan(saxpy(False)))).count("phi i64") == 1


def test_nothing_is_claimed_not_to_wrap_but_our_own_counter():
    text = region_text(lower(plan(saxpy())))
    assert "inbounds" not in text
    assert [line for line in text.splitlines() if "nsw" in line or "nuw" in line] == [
        line for line in text.splitlines() if "= add nuw nsw i64 %k" in line
    ]


def test_accesses_to_different_arguments_are_declared_apart():
    text = region_text(lower(plan(saxpy(False))))
    accesses = [line for line in text.splitlines() if " float, ptr" in line and "alias.scope" in line]
    scopes = {line.split("!alias.scope ")[1].split(",")[0] for line in accesses}
    assert len(accesses) == 2 and len(scopes) == 2


def test_arrays_that_a_loop_swaps_are_not_declared_apart():
    b = Builder()
    n, steps = b.dim("N"), b.scalar("steps", t.I64)
    u, v, w = (b.array(name, t.F64) for name in "uvw")

    def step(_, u, v):
        def body(i):
            b.store(v, i, value=b.binary("add", b.load(u, i), b.load(w, i)))

        b.grid([n], body)
        return v, u

    b.for_(b.extent(steps), [u, v], step)
    text = region_text(lower(plan(b.kernel())))
    loads = [line for line in text.splitlines() if "load double" in line]
    store = next(line for line in text.splitlines() if "store double" in line)
    scope = [line.split("!alias.scope ")[1].split(",")[0] for line in (*loads, store)]
    assert scope[0] == scope[2] != scope[1]


def test_a_constant_of_the_host_level_is_a_literal_in_the_region():
    b = Builder()
    x = b.array("x", t.F64)
    half = b.const(t.F64, 0.5)
    b.grid([b.size(x)], lambda i: b.store(x, i, value=half))
    assert "store double 0x3FE0000000000000" in region_text(lower(plan(b.kernel())))


def test_a_conditional_read_is_a_branch():
    b = Builder()
    x, y = b.array("x", t.F64, borrow=t.Borrow.REF), b.array("y", t.F64)
    n = b.size(x)

    def body(i):
        inside = b.binary("lt", i, n)
        zero = b.const(t.F64, 0.0)
        value = b.if_(inside, lambda: b.load(x, i, checked=False), lambda: zero)
        b.store(y, i, value=value, checked=False)

    b.grid([b.size(y)], body)
    text = region_text(lower(plan(b.kernel())))
    assert "br i1" in text and "select" not in text and "phi double" in text
