"""Addresses take a thread's own part from 32 bits in the block of the access."""

from __future__ import annotations

import re

import pytest
from tests.targets.device_kernels import lowered, needs

import lend
from lend import Mut, Ref, f64
from lend.dims import H, N, W
from lend.targets.hip import toolkit
from lend.targets.hip.own import per_block

HEAD = """define amdgpu_kernel void @region_0(ptr addrspace(1) %a0) {
entry:
  %workitem.1 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %workitem.2 = zext nneg i32 %workitem.1 to i64
"""
FAR = "  %p.9 = getelementptr i8, ptr addrspace(1) %a0, i64 %v.3\n  ret void\n}\n"


def rewritten(step: str, far: str = FAR) -> str:
    """What becomes of an address whose part a step of the block before has worked out."""
    return per_block(f"{HEAD}  {step}\n  br label %work.4\n\nwork.4:\n{far}")


@pytest.mark.parametrize(
    ("step", "anew"),
    [
        ("%v.3 = shl nuw nsw i64 %workitem.2, 3", "shl nuw nsw i32 %workitem.1, 3"),
        ("%v.3 = mul nuw nsw i64 %workitem.2, 24", "mul nuw nsw i32 %workitem.1, 24"),
        ("%v.3 = add i64 %workitem.2, 8", "add nuw nsw i32 %workitem.1, 8"),
        ("%v.3 = or disjoint i64 %workitem.2, 1", "or i32 %workitem.1, 1"),
        ("%v.3 = shl i64 %workitem.2, 20", "shl nuw nsw i32 %workitem.1, 20"),
    ],
)
def test_a_part_is_worked_out_anew_in_another_block(step: str, anew: str) -> None:
    far = rewritten(step).partition("work.4:\n")[2]
    assert far.startswith(f"  %v.3.own.3.0 = {anew}\n  %v.3.own.3 = zext nneg i32 %v.3.own.3.0 to i64\n")
    assert "getelementptr i8, ptr addrspace(1) %a0, i64 %v.3.own.3\n" in far


@pytest.mark.parametrize(
    "step",
    [
        "%v.3 = shl i64 %workitem.2, 22",  # 1023 << 22 is more than 31 bits
        "%v.3 = shl i64 %workitem.2, 64",
        "%v.3 = mul i64 %workitem.2, 2099203",
        "%v.3 = add i64 %workitem.2, 2147483647",
        "%v.3 = add i64 %workitem.2, -8",
        "%v.3 = sub i64 %workitem.2, 8",
        "%v.3 = shl i64 %workitem.2, %n",
        "%v.3 = zext i32 %other to i64",
    ],
)
def test_what_is_not_known_to_fit_stays(step: str) -> None:
    assert "own" not in rewritten(step)


def test_a_block_works_a_part_out_once_and_its_own_not_at_all() -> None:
    twice = FAR.replace("  ret", "  %p.10 = getelementptr i8, ptr addrspace(1) %a1, i64 %v.3\n  ret")
    text = rewritten("%v.3 = shl nuw nsw i64 %workitem.2, 3", twice)
    assert text.count("zext nneg i32 %v.3.own.3.0") == 1 and text.count("i64 %v.3.own.3\n") == 2
    near = HEAD + "  %v.3 = shl nuw nsw i64 %workitem.2, 3\n" + FAR
    assert per_block(near) == near


def test_another_function_knows_nothing_of_it() -> None:
    other = "define void @other(i64 %v.3) {\n" + FAR
    assert per_block(HEAD + "  %v.3 = shl i64 %workitem.2, 3\n  ret void\n}\n" + other).endswith(other)


@lend.kernel
def guarded(x: Ref[f64, N], y: Ref[f64, N], z: Mut[f64, N]):
    for i in lend.grid(N):
        if x[i] > 0.0:
            z[i] = y[i]


@lend.kernel
def corners(x: Ref[f64, H, W], y: Mut[f64, H, W]):
    for j, i in lend.grid(H - 1, W - 1):
        y[j, i] = x[j, i] * x[j + 1, i + 1] + x[j, i + 1] * x[j + 1, i]


@needs(toolkit.linker)
@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("kernel", [guarded, corners], ids=["behind a branch", "rows that share a part"])
def test_every_access_adds_to_an_address_of_the_wave(kernel: lend.Kernel[..., object], processor: str) -> None:
    accesses = re.findall(r"\tglobal_(?:load|store)_.*", lowered(kernel, f"hip:{processor}").asm)
    assert len(accesses) >= 3
    assert all(re.search(r"s\[\d+:\d+\]", access) for access in accesses)
