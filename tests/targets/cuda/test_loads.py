"""Loads move down to their first use, and past nothing that may write, wait, or end their block."""

from __future__ import annotations

import pytest

from lend.targets.cuda.loads import sunk


def moved(*lines: str) -> list[str]:
    """What becomes of a block of these instructions."""
    return sunk("\n".join(f"  {line}" for line in lines)).replace("  ", "").split("\n")


A, B = "%a = load double, ptr %p, align 8", "%b = load double, ptr %q, align 8"
SUM, TWICE = "%s = fadd double %a, %b", "%t = fmul double %b, %b"


def test_a_load_stands_before_its_first_use() -> None:
    assert moved(A, B, TWICE, SUM, "ret void") == [B, TWICE, A, SUM, "ret void"]


def test_loads_that_one_instruction_uses_keep_the_order_of_its_operands() -> None:
    assert moved(B, A, SUM, "ret void") == [A, B, SUM, "ret void"]


def test_a_load_of_a_loaded_address_comes_after_it() -> None:
    address, through = "%p = load ptr, ptr %env, align 8", "%v = load i64, ptr %p, align 8"
    assert moved(address, through, B, TWICE, "store i64 %v, ptr %r") == [address, B, TWICE, through, "store i64 %v, ptr %r"]


@pytest.mark.parametrize(
    "barrier",
    [
        "store double 0.0, ptr %r, align 8",
        "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        "%n = tail call double @__nv_sin(double %x)",
        "%n = call double @other(double %x) ; @llvm.fma.",
        "%n = load volatile i64, ptr %r, align 8",
        "%n = load atomic i64, ptr %r monotonic, align 8",
        "%n = atomicrmw add ptr %r, i64 1 monotonic, align 8",
        "fence acquire",
        "br label %next",
        "ret void",
        "unheard-of instruction",
        "%n = unheard-of i64 %x",
    ],
)
def test_what_may_write_is_not_crossed(barrier: str) -> None:
    assert moved(A, B, barrier, TWICE, SUM) == [A, B, barrier, TWICE, SUM]


def test_arithmetic_is_crossed() -> None:
    fused = "%n = tail call double @llvm.fma.f64(double %b, double %b, double %b)"
    assert moved(A, B, fused, SUM) == [B, fused, A, SUM]
    element = '%"env$.3" = getelementptr i8, ptr %env, i64 8'
    assert moved(A, element, "ret void") == [A, element, "ret void"]
