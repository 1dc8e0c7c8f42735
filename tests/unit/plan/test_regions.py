"""Plans: numbering, captures, cost, chunks."""

import pytest
from hand_built import Builder, t

from lend.plan.regions import BLOCK, CHUNK_WORK, DeviceRegion, plan


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
    assert str(plan(nested())).splitlines()[1] == "  region 0: parallel i over 1 dimension, cost 1, grain 32768; captures x, a"


def cost_of_loop(upper):
    b = Builder()
    x = b.array("x", t.F64)
    n = b.size(x)

    def body(i):
        last = b.index(upper) if upper is not None else n
        b.for_(b.extent(last), [], lambda k: b.store(x, i, value=b.load(x, k)))

    b.grid([n], body)
    return plan(b.kernel()).regions[0].cost


def test_a_loop_counts_its_trips_and_sixteen_where_they_are_unknown():
    assert cost_of_loop(100) - 1 == 3 * 100
    assert cost_of_loop(None) - 1 == 3 * 16


@pytest.mark.parametrize("iterations", [1, 63, 64, 65, 2048, 100_000, 10**7, 10**12])
@pytest.mark.parametrize("cost", [1, 7, 500, CHUNK_WORK, 10 * CHUNK_WORK])
def test_chunks_hold_enough_work_and_are_at_most_sixty_four(iterations, cost):
    parallel = plan(nested()).regions[0].parallel
    region = DeviceRegion(0, parallel, (), cost, max(1, -(-CHUNK_WORK // cost)))
    chunk = region.chunk(iterations)
    assert chunk * cost >= CHUNK_WORK and -(-iterations // chunk) <= 64


def test_chunks_of_a_reduction_are_whole_blocks():
    region = plan(nested()).regions[1]
    assert all(region.chunk(n) % BLOCK == 0 for n in (1, 2049, 10**6 + 1, 10**9 + 7))
