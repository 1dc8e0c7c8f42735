"""Blocks of threads for CUDA and HIP: assembled and linked. Nothing runs."""

from __future__ import annotations

import re

import pytest
from tests.targets.device_kernels import lowered, needs
from tests.teams.kernels import CASES

import lend
from lend import Out, f32
from lend.diagnostics.errors import DeviceError
from lend.dims import N
from lend.targets.cuda import toolkit as nvidia
from lend.targets.hip import toolkit as amd

NVIDIA = needs(nvidia.libdevice, nvidia.ptxas)
AMD = needs(amd.linker, amd.ocml)
TARGETS = [
    pytest.param("cuda:sm_90", marks=NVIDIA),
    pytest.param("hip:gfx90a", marks=AMD),
    pytest.param("hip:gfx1100", marks=AMD),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_a_team_kernel_has_code(name: str, target: str) -> None:
    made = lowered(lend.kernel(CASES[name].function), target)
    assert made.object[:4] == b"\x7fELF" and made.resources


@NVIDIA
def test_tiles_are_in_shared_memory_and_barriers_are_barriers() -> None:
    made = lowered(lend.kernel(CASES["matmul"].function), "cuda:sm_90")
    assert made.resources[0].shared == 2 * 4 * 4 * 4
    assert "ld.shared" in made.asm and "st.shared" in made.asm and "ld.global.nc" in made.asm
    assert re.search(r"bar(rier)?\.sync", made.asm)
    assert not re.search(r"\b(ld|st)\.b\d+", made.asm)  # generic accesses


@NVIDIA
def test_subgroups_are_shuffles() -> None:
    made = lowered(lend.kernel(CASES["reduce_subgroups"].function), "cuda:sm_90")
    assert "shfl.sync.idx" in made.asm


@AMD
def test_subgroups_are_permutes() -> None:
    made = lowered(lend.kernel(CASES["reduce_subgroups"].function), "hip:gfx90a")
    assert "ds_bpermute" in made.asm


@lend.kernel
def greedy(y: Out[f32, N]):
    for b in lend.blocks(N):
        s = lend.shared(f32, 20_000)
        for t in lend.threads(1):
            s[t] = f32(1)
            y[b] = s[t]


@NVIDIA
def test_more_shared_memory_than_there_is_is_said_by_its_line() -> None:
    with pytest.raises(
        DeviceError, match=r"line \d+: a block needs 80,000 bytes of memory that its threads share, and cuda gives it 49,152"
    ):
        assert lowered(greedy, "cuda:sm_90").object
