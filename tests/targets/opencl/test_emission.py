"""Code for devices is written by a process of its own."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from lend.diagnostics.errors import InternalError
from lend.targets import emission
from lend.targets.emission import Order

SPIRV = Order("spirv64v1.4-unknown-unknown", passes="plain")
GOOD = "define spir_kernel void @k(ptr addrspace(1) %p) {\n  store i32 7, ptr addrspace(1) %p\n  ret void\n}\n"
BAD = """declare float @llvm.minimumnum.f32(float, float)
define spir_kernel void @k(ptr addrspace(1) %p, float %x) {
  %y = call float @llvm.minimumnum.f32(float %x, float 1.0)
  store float %y, ptr addrspace(1) %p
  ret void
}
"""


def test_what_cannot_be_written_is_named_and_ends_nobody():
    for _ in range(2):
        with pytest.raises(InternalError, match="fminimumnum` in k"):
            emission.emit(BAD, SPIRV)
        assert emission.emit(GOOD, SPIRV)[:4] == b"\x03\x02\x23\x07"
    with pytest.raises(InternalError):
        emission.emit("this is no module", SPIRV)


def test_the_same_text_gives_the_same_code():
    other = GOOD.replace("i32 7", "i64 8")
    first = emission.emit(GOOD, SPIRV)
    assert len({first, *(emission.emit(text, SPIRV) for _ in range(5) for text in (other, GOOD))}) == 2


def test_a_helper_that_was_ended_is_started_again():
    emission.emit(GOOD, SPIRV)
    helper = emission._helper
    assert helper is not None
    os.kill(helper._process.pid, signal.SIGKILL)
    helper._process.wait()
    assert emission.emit(GOOD, SPIRV)


def test_threads_ask_at_once():
    texts = [GOOD.replace("i32 7", f"i32 {number}") for number in range(8)]
    expected = [emission.emit(text, SPIRV) for text in texts]
    found: dict[int, bytes] = {}
    workers = [threading.Thread(target=lambda k=k: found.setdefault(k, emission.emit(texts[k], SPIRV))) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [found[k] for k in range(8)] == expected
