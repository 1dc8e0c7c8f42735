"""`kernel.explain` of blocks of threads and of atomic operations."""

from __future__ import annotations

import numpy as np
import pytest

import lend
from lend import Atomic, Out, Ref, comptime, f64, i32, i64
from lend.dims import M, N
from lend.driver import explained
from lend.plan.report import Surroundings


@lend.kernel
def sums(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 64) -> f64:
    top = -1e300
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        high = -1e300
        for t in lend.threads(T):
            i = b * T + t
            s[t] = x[i] if i < N else 0.0
            lend.sync()
            if t == 0:
                total = 0.0
                for k in range(T):
                    total += s[k]
                out[b] = total
            high = max(high, s[t])
        top = max(top, high)
    return top


@lend.kernel
def counted(x: Ref[i32, N], h: Atomic[i32, 16]):
    for i in lend.grid(N):
        h[i64(x[i]) & 15] += 1


@lend.kernel
def repeated(x: Ref[f64, N], out: Out[f64, N], steps: i32):
    for i in lend.grid(N):
        out[i] = 0.0
    for _ in range(i64(steps)):
        for b in lend.blocks(lend.cdiv(N, 8)):
            for t in lend.threads(8):
                i = b * 8 + t
                if i < N:
                    out[i] = x[i]
        for i in lend.grid(N):
            out[i] = out[i] + 1.0


@pytest.fixture(autouse=True)
def a_machine_with_vectors_of_64_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explained, "surroundings", lambda: Surroundings(4, 32 << 20, 12 << 20, 64))


def test_what_is_said_of_blocks() -> None:
    (loop,) = sums.explain(np.zeros(640), np.zeros(10)).loops
    said = dict(loop.sentences)
    assert loop.obstacle is not None and loop.obstacle.kind == "team"
    assert loop.text == "for b in lend.blocks(M)" and loop.iterations == 10 and loop.reduces == ("top",)
    assert said["threads of a block"] == (
        "those of line 21 run in 2 loops, one for each stretch between barriers, in "
        "vectors of up to 8 neighbouring `t`; in blocks "
        "whose threads all pass a guard, nobody asks"
    )
    assert said["memory of a block"].endswith("for what threads share and what they keep across barriers, `s` among it")
    assert "vectors" not in said


def test_an_atomic_operation_is_an_obstacle() -> None:
    (loop,) = counted.explain(np.zeros(100, np.int32), np.zeros(16, np.int32)).loops
    assert loop.vector is None and loop.obstacle is not None and loop.obstacle.kind == "atomic"
    assert "is an atomic operation, which each iteration does by itself" in loop.obstacle.reason


def test_steps_around_blocks_stay_in_order() -> None:
    explanation = repeated.explain(np.zeros(100), np.zeros(100), 3)
    (host,) = explanation.host
    assert not host.waves and host.reason.startswith("each step runs blocks of threads, in line ")
