"""The coroutines of a block: barriers, sub-groups, and threads that never meet."""

from __future__ import annotations

import numpy as np
import pytest

from lend.diagnostics.errors import ContractError
from lend.diagnostics.spans import Source, Span
from lend.ir import typed
from lend.language.types import BOOL_, F32, F64, I32, U32
from lend.lower.plain_run import Run
from lend.lower.plain_schedule import Schedule, atomic_change, subgroup_results

SOURCE = Source("team.py", "first barrier\nsecond barrier\nsub-group\n")


def span(line):
    return Span(SOURCE, line, 0, line, len(SOURCE.line(line)))


def sync(line):
    return typed.Sync(span(line))


def subgroup(operator, size):
    value = typed.Value(F32, span(3))
    return typed.Subgroup(span(3), (typed.Value(F32, span(3)),), operator, size, value, None)


def schedule(meetings, bodies):
    run = Run((), lambda *_: RuntimeError(), meetings)
    return Schedule(run, (7,), [(k,) for k in range(len(bodies))], bodies), run


def test_no_thread_passes_a_barrier_before_all_have_come():
    seen = []

    def body(thread):
        seen.append(("a", thread))
        yield (0,)
        seen.append(("b", thread))
        yield (0,)
        seen.append(("c", thread))
        return thread * 10

    ours, _ = schedule([sync(1)], [body(k) for k in range(3)])
    assert ours.run() == [0, 10, 20]
    assert seen == [(phase, thread) for phase in "abc" for thread in range(3)]


def test_faults_name_the_block_and_the_thread():
    places = []

    def body():
        places.append(run.thread)
        yield (0,)
        places.append(run.thread)

    ours, run = schedule([sync(1)], [body(), body()])
    ours.run()
    assert places == [(7, 0), (7, 1), (7, 0), (7, 1)]


def test_sub_groups_meet_without_the_others():
    def body(thread):
        total = yield (0, float(thread))
        if thread < 2:
            total += yield (0, total)
        yield (1,)
        return total

    ours, _ = schedule([subgroup("reduce_add", 2), sync(1)], [body(k) for k in range(4)])
    assert ours.run() == [3.0, 3.0, 5.0, 5.0]


def waits(*numbers):
    yield from ((number,) for number in numbers)


def test_a_thread_that_ends_before_a_barrier_is_named_with_its_place():
    ours, _ = schedule([sync(1)], [waits(), waits(0)])
    with pytest.raises(ContractError, match="thread 0 is at its end; thread 1 waits at team.py:1: first barrier"):
        ours.run()


def test_threads_at_two_barriers_are_named_with_both_lines():
    ours, _ = schedule([sync(1), sync(2)], [waits(0), waits(0), waits(1)])
    with pytest.raises(ContractError) as caught:
        ours.run()
    assert "thread 0 waits at team.py:1: first barrier; thread 2 waits at team.py:2: second barrier" in str(caught.value)


def test_a_sub_group_that_does_not_meet_is_told_before_others():
    def exchange():
        yield (0, 1.0)
        yield (1,)

    ours, _ = schedule([subgroup("scan_add", 2), sync(1)], [waits(1), waits(1), exchange(), waits(1)])
    with pytest.raises(ContractError, match="thread 2 waits at team.py:3: sub-group; thread 3 waits at team.py:1"):
        ours.run()


def test_results_of_sub_groups():
    assert subgroup_results("ballot", BOOL_, [True, False, True, True], [0] * 4) == [0b1101] * 4
    assert subgroup_results("shuffle", I32, [5, 6, 7, 8], [3, 4, -1, 0]) == [8, 6, 7, 5]
    assert subgroup_results("shuffle_xor", I32, [5, 6, 7, 8], [1, 1, 9, 2]) == [6, 5, 7, 6]
    assert subgroup_results("shuffle_up", I32, [5, 6, 7, 8], [1] * 4) == [5, 5, 6, 7]
    assert subgroup_results("shuffle_down", I32, [5, 6, 7, 8], [1] * 4) == [6, 7, 8, 8]
    assert subgroup_results("scan_max", I32, [5, 8, 7, 9], [0] * 4) == [5, 8, 8, 9]
    big = [1e16, 1.0, -1e16, 1.0]
    assert subgroup_results("reduce_add", F64, big, [0] * 4) == [(1e16 - 1e16) + (1.0 + 1.0)] * 4  # in halves
    assert subgroup_results("scan_add", F64, big, [0] * 4) == [1e16, 1e16 + 1.0, 0.0, 1.0]  # from the left


@pytest.mark.parametrize(
    ("operator", "type", "operands", "expected"),
    [
        ("add", U32, (2**32 - 1, 3), 2),
        ("min", F64, (0.0, -0.0), -0.0),
        ("exchange", I32, (1, 9), 9),
        ("store", I32, (1, 9), 9),
        ("load", I32, (1,), None),
        ("compare_exchange", I32, (1, 1, 9), 9),
        ("compare_exchange", I32, (1, 2, 9), None),
        ("compare_exchange", F32, (0.0, -0.0, 9.0), None),
        ("compare_exchange", F64, (float("nan"), float("nan"), 9.0), 9.0),
    ],
)
def test_what_atomic_operations_leave(operator, type, operands, expected):
    found = atomic_change(operator, type)(*operands)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert np.float64(found).tobytes() == np.float64(expected).tobytes()
