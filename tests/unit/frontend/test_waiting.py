"""Which loops wait for another thread, and are refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import lend

HEADER = """
import lend
from lend import Atomic, Mut, i32, i64
from lend.dims import M, N
"""

KERNEL = """
@lend.kernel
def k(h: Atomic[i64, N], lock: Atomic[i32, M], x: Mut[i64, N], n: i64):
    for i in lend.grid(N):
"""

WAITS = {
    "a_flag": """
while h.load(0) == 0:
    pass
""",
    "a_flag_by_break": """
while True:
    if h.load(0) == 1:
        break
""",
    "a_lock_by_compare_exchange": """
while lock.compare_exchange(0, 0, 1) != 0:
    pass
lock.store(0, 0)
""",
    "a_lock_by_exchange": """
while lock.exchange(0, 1) == 1:
    pass
""",
    "a_ticket_lock": """
my = h.add(0, 1)
while h.load(1) != my:
    pass
""",
    "until_a_counter_is_small_while_it_grows": """
while h.add(0, 1) >= n:
    pass
""",
    "a_counter_that_adds_nothing": """
while h.add(0, 0) < n:
    pass
""",
    "retry_once_something_is_zero": """
while True:
    old = h.load(i)
    if old == 0:
        if h.compare_exchange(i, old, 1) == old:
            break
""",
    "retry_until_the_old_value_is_seven": """
while True:
    old = h.load(i)
    if h.compare_exchange(i, old, 1) == old and old == 7:
        break
""",
    "exchange_that_expects_a_constant": """
while True:
    old = h.load(0)
    if h.compare_exchange(i, 1, 1) == old:
        break
""",
    "a_flag_in_a_function": """
@lend.function
def wait(a):
    while a.load(0) == 0:
        pass
---
wait(h)
""",
    "a_flag_through_memory": """
p = lend.local(i64, 1)
p[0] = 0
while p[0] == 0:
    p[0] = h.load(0)
""",
    "flags_seen_in_an_inner_loop": """
while True:
    done = False
    for k in range(3):
        if h.load(k) == 1:
            done = True
    if done:
        break
""",
    "retry_that_skips_rounds": """
while True:
    old = h.load(i)
    if old > n:
        continue
    if h.compare_exchange(i, old, old + 1) == old:
        break
""",
    "exchange_at_another_place_than_the_load": """
while True:
    old = h.load(1)
    if h.compare_exchange(0, old, old) == old:
        break
""",
    "exchange_at_the_next_place": """
k = i
old = h.load(k)
while True:
    if h.compare_exchange(k, old, old) == old:
        break
    old = h.load(k)
    k = (k + 1) % n
""",
}

ENDS = {
    "a_flag_a_fixed_number_of_times": """
for k in range(100):
    if h.load(0) == 1:
        break
""",
    "tickets_up_to_a_limit": """
t = h.add(0, 1)
while t < n:
    x[t] = 1
    t = h.add(0, 1)
""",
    "tickets_by_the_four_scaled": """
while True:
    t = h.add(0, 4) * 2 + 1
    if t >= n:
        break
    x[t] = 1
""",
    "tickets_in_the_condition": """
while h.add(0, 1) < n:
    pass
""",
    "counting_down": """
while h.sub(0, 1) > 0:
    pass
""",
    "retry": """
old = h.load(i)
while True:
    seen = h.compare_exchange(i, old, old * 3)
    if seen == old:
        break
    old = seen
""",
    "retry_with_a_flag": """
done = False
while not done:
    old = h.load(i)
    done = h.compare_exchange(i, old, old * 3) == old
""",
    "retry_with_the_exchange_before_the_loop": """
old = h.load(i)
seen = h.compare_exchange(i, old, old * 3)
while seen != old:
    old = seen
    seen = h.compare_exchange(i, old, old * 3)
""",
    "maximum_by_retry": """
old = h.load(i)
while n > old:
    seen = h.compare_exchange(i, old, n)
    if seen == old:
        break
    old = seen
""",
    "retry_in_the_condition": """
old = h.load(i)
while n > old and h.compare_exchange(i, old, n) != old:
    old = h.load(i)
""",
    "retry_in_a_function": """
@lend.function
def upd(a, i, v):
    old = a.load(i)
    while True:
        seen = a.compare_exchange(i, old, old * v)
        if seen == old:
            return old
        old = seen
---
o = upd(h, i, 3)
""",
    "atomics_beside_a_counted_loop": """
k = 0
while k < 10:
    h.add(0, k)
    k += 1
""",
    "retry_below_a_limit": """
while True:
    old = h.load(i)
    if old > n:
        break
    if h.compare_exchange(i, old, old + 1) == old:
        break
""",
    "retry_at_a_computed_place": """
while True:
    old = h.load(i + 1)
    if h.compare_exchange(i + 1, old, old) == old:
        break
""",
    "retry_at_a_loaded_place": """
k = x[i]
while True:
    old = lock.load(k)
    if lock.compare_exchange(k, old, old + 1) == old:
        break
""",
}


def define(body: str, folder: Path) -> None:
    """Define the kernel whose iterations do this; before a line of dashes stand functions."""
    functions, _, statements = body.rpartition("---\n")
    text = HEADER + functions + KERNEL + "".join(f"        {line}\n" for line in statements.strip().split("\n"))
    file = folder / "kernel_in_question.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("kernel_in_question", file)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize("name", WAITS)
def test_loop_waits(name: str, tmp_path: Path) -> None:
    with pytest.raises(lend.CompileError, match="goes on until another thread changes") as caught:
        define(WAITS[name], tmp_path)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"L0419"}


@pytest.mark.parametrize("name", ENDS)
def test_loop_ends_by_itself(name: str, tmp_path: Path) -> None:
    try:
        define(ENDS[name], tmp_path)
    except lend.CompileError as error:  # races, where the example is careless
        assert not [d for d in error.diagnostics if d.code == "L0419"]
