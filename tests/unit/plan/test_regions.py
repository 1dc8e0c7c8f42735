"""Plans: numbering, captures, cost, chunks."""

from dataclasses import replace

import pytest
from hand_built import Builder, t

from lend.plan.cost import Work
from lend.plan.regions import BLOCK, CHUNK_WORK, CHUNKS, plan


def nested():
    """A loop, in a branch, in a loop of the host level, after another."""
    b = Builder()
    n, a, x = b.dim("N"), b.scalar("a", t.F64), b.array("x", t.F64)
    b.grid([n], lambda i: b.store(x, i, value=a))

    def step(_):
        def then():
            zero = b.const(t.F64, 0.0)
            b.grid([n], lambda i, s: b.binary("add", s, b.load(x, i)), ("add", [zero]))

        b.if_(b.binary("lt", a, a), then, lambda: None)

    b.for_(b.extent(n), [], step)
    return b.kernel()


def test_regions_are_numbered_in_the_order_of_the_text_however_deep():
    made = plan(nested())
    assert [region.number for region in made.regions] == [0, 1]
    assert [bool(region.parallel.reductions) for region in made.regions] == [False, True]


def test_captures_are_what_the_body_uses_of_the_host_level_in_order_of_use():
    made = plan(nested())
    assert [value.name for value in made.regions[0].captures] == ["x", "a"]
    assert [value.name for value in made.regions[1].captures] == ["x"]


def test_a_plan_prints():
    assert str(plan(nested())).splitlines()[1] == "  region 0: parallel i over 1 dimension, cost 1; captures x, a"


def work_of_loop(make_extent):
    """The work of `for k in range(…): x[i] = x[k]`."""
    b = Builder()
    x, n = b.array("x", t.F64), b.scalar("n", t.I32)

    def body(i):
        b.for_(make_extent(b, x, n, i), [], lambda k: b.store(x, i, value=b.load(x, k)))

    b.grid([b.size(x)], body)
    return plan(b.kernel()).regions[0]


@pytest.mark.parametrize(
    ("make_extent", "work"),
    [
        (lambda b, x, n, i: b.extent(b.index(100)), "301"),
        (lambda b, x, n, i: b.extent(b.size(x)), "1 + 3 per step of 0..x.shape[0]"),
        (lambda b, x, n, i: b.extent(b.cast(t.INDEX, n)), "2 + 3 per step of 0..n"),
        (lambda b, x, n, i: b.extent(b.size(x), i), "1 + 3 per step of 0..x.shape[0] / 2"),
        (lambda b, x, n, i: b.extent(i), "49"),
    ],
)
def test_loops_count_their_trips_as_far_as_the_host_level_knows_them(make_extent, work):
    assert str(work_of_loop(make_extent).work) == work


@pytest.mark.parametrize("iterations", [1, 63, 64, 65, 2048, 100_000, 10**7, 10**12])
@pytest.mark.parametrize("cost", [1, 7, 500, CHUNK_WORK, 10 * CHUNK_WORK])
def test_chunks_hold_enough_work_and_are_at_most_sixty_four(iterations, cost):
    chunk = replace(plan(nested()).regions[0], work=Work(cost)).chunk(iterations, cost)
    assert (chunk * cost >= CHUNK_WORK or chunk >= iterations) and -(-iterations // chunk) <= CHUNKS


def test_chunks_of_a_reduction_are_whole_blocks():
    assert plan(nested()).regions[1].unit == BLOCK
