"""What stands in the machine code of whole kernels: maps, stencils and sums run in vectors of 256 bits or more."""

from __future__ import annotations

import re
from typing import Any

import pytest

import lend
from lend import Mut, Out, Ref, f32, f64, i64
from lend.dims import H, M, N, W
from lend.targets.cpu.machine import host

pytestmark = pytest.mark.skipif(
    not (host().architecture == "x86_64" and "+avx2" in host().features), reason="looks for x86-64 code with AVX2"
)


@lend.kernel
def unchecked_map(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        with lend.unchecked("i is below N, the size of both"):
            y[i] = ((0.5 * x[i] - 1.25) * x[i] + 2.0) * x[i] + 0.75


@lend.kernel
def proved_map(x: Ref[f32, N], y: Out[f32, N]):
    for i in lend.grid(N):
        y[i] = ((0.5 * x[i] - 1.25) * x[i] + 2.0) * x[i] + 0.75


@lend.kernel
def stencil(u: Ref[f32, H, W], v: Mut[f32, H, W]):
    for i, j in lend.grid((1, H - 1), (1, W - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def one_after_another(x: Ref[f32, N], y: Mut[f32, N]):
    for i in range(1, N):
        y[i] = 0.5 * y[i - 1] + x[i]


@lend.kernel
def gather(x: Ref[f32, N], at: Ref[i64, M], y: Out[f32, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]


WIDE = r"%[yz]mm\d+"
KERNELS = [
    (unchecked_map, rf"vfmadd\w+ps\b.*{WIDE}"),
    (proved_map, rf"vfmadd\w+ps\b.*{WIDE}"),
    (stencil, rf"vaddps\b.*{WIDE}"),
    (total, rf"vaddpd\b.*{WIDE}"),
]


def blocks(asm: str) -> list[str]:
    """The instructions between labels and jumps."""
    return re.split(r"^(?:[.\w]+:.*|\tj\w+\t.*)$", asm, flags=re.MULTILINE)


@pytest.mark.parametrize(("kernel", "wide"), KERNELS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_loop_works_on_vectors_of_256_bits_or_more(kernel: Any, wide: str) -> None:
    """The blocks that compute from memory, of which a sum has more than one: it is held back where its array is large."""
    inner = [block for block in blocks(kernel.lower().asm) if re.search(rf"{wide}", block) and re.search(rf"\(.*{WIDE}", block)]
    assert inner, kernel.lower().asm
    memory = [line for block in inner for line in block.splitlines() if "(" in line and re.match(r"\tv(mov|add|fmadd)", line)]
    assert memory and all(re.search(WIDE, line) for line in memory)


def test_only_a_checked_access_records_faults() -> None:
    def region(kernel: Any) -> str:
        return kernel.lower().asm.partition("region_0:")[2].partition(".size")[0]

    assert "fault" in region(gather)
    assert not [kernel for kernel, _ in KERNELS if "fault" in region(kernel)]


def test_a_loop_that_carries_a_value_is_not_vectorised() -> None:
    """So that the test above can fail."""
    assert not [block for block in blocks(one_after_another.lower().asm) if re.search(rf"v(fmadd\w+|add)ps\b.*{WIDE}", block)]
