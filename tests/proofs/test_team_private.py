"""Private arrays hold what their own thread has written, and no barrier brings what others wrote into theirs."""

from __future__ import annotations

from typing import Literal

from verdicts import assert_proved, refused

import lend
from lend import Out, f64
from lend.dims import M

Rows = Literal[32]


def test_a_private_array_is_written_by_its_own_thread() -> None:
    @lend.kernel
    def kernel(o: Out[f64, M, Rows]):
        for b in lend.blocks(M):
            for t in lend.threads(32):
                p = lend.local(f64, 32)
                for k in range(32):
                    p[k] = 1.0
                lend.sync()
                o[b, t] = p[31 - t]

    assert_proved(kernel)


def test_what_another_thread_has_written_into_its_own_is_not_there() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(o: Out[f64, M, Rows]):
            for b in lend.blocks(M):
                for t in lend.threads(32):
                    p = lend.local(f64, 32)
                    p[t] = 1.0
                    lend.sync()
                    o[b, t] = p[31 - t]


def test_nor_what_one_thread_has_written() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(o: Out[f64, M, Rows]):
            for b in lend.blocks(M):
                for t in lend.threads(32):
                    p = lend.local(f64, 1)
                    if t == 0:
                        p[0] = 1.0
                    lend.sync()
                    o[b, t] = p[0]


def test_nor_in_a_sub_group() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(o: Out[f64, M, Rows]):
            for b in lend.blocks(M):
                for t in lend.threads(32):
                    w = lend.subgroup(8)
                    p = lend.local(f64, 1)
                    if w.lane == 0:
                        p[0] = 1.0
                    w.sync()
                    o[b, t] = p[0]
