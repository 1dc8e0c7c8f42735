"""What stands in the machine code of tiled loops: masks in registers, fused operations without spills, vector functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

import lend
from lend import Mut, Out, Ref, f32, f64, i32
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.lower.module import lower
from lend.plan.regions import plan
from lend.plan.tiling import Tiling
from lend.targets.cpu.emit import assembly, optimise
from lend.targets.cpu.machine import Machine, host, named
from lend.targets.cpu.vector_library import attach

AVX512 = "+avx,+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl"
MACHINES = {
    "v2": named("x86-64-v2", triple="x86_64-unknown-linux-gnu"),
    "v3": named("x86-64-v3", triple="x86_64-unknown-linux-gnu"),
    "avx512": Machine("x86_64-unknown-linux-gnu", "znver4", AVX512),
    "arm": named("neoverse-n1", triple="aarch64-unknown-linux-gnu"),
}


@lend.kernel
def mandelbrot(out: Out[i32, N, M]):
    for i, j in lend.grid(N, M):
        cr, ci = f64(j) / f64(M), f64(i) / f64(N)
        x, y, n = 0.0, 0.0, i32(0)
        while x * x + y * y <= 4.0 and n < 100:
            x, y = x * x - y * y + cr, 2.0 * x * y + ci
            n += 1
        out[i, j] = n


@lend.kernel
def gemm(a: Ref[f32, N, K], b: Ref[f32, K, M], c: Out[f32, N, M]):
    for i, j in lend.grid(N, M):
        s = f32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@lend.kernel
def hyperbolic(x: Ref[f64, N], y: Ref[f64, N], w: Out[f64, N]):
    for i in lend.grid(N):
        w[i] = x[i] / (math.tanh(y[i]) - 1.0)


@lend.kernel
def triad(a: Ref[f64, N], b: Ref[f64, N], c: Out[f64, N]):
    for i in lend.grid(N):
        c[i] = a[i] + 3.0 * b[i]


@lend.kernel
def branches(x: Ref[f32, N], d: Ref[i32, N], y: Mut[f32, N], q: Mut[i32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        if d[i] > 0:
            q[i] = q[i] // d[i]
        for k in range(i, N):
            if x[k] < 0.5:
                break
            y[i] += x[k]
        s += y[i]
    return s


def code(kernel: Any, machine: Machine) -> str:
    """The assembly of a kernel whose loops are tiled, planned for a machine."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    made = plan(compilation.scheduled, machine.vector_bytes)
    assert all(region.tiling is not None for region in made.regions)
    return assembly(optimise(lower(made), machine), machine)


def region(asm: str) -> str:
    return asm.partition("region_0:")[2].partition(".size")[0]


def innermost(asm: str) -> list[str]:
    """The instructions of loops that have no other label inside."""
    return [m[2] for m in re.finditer(r"^(\.L\w+):[^\n]*\n((?:\t.*\n|\s*#.*\n)*?)\tj\w+\t\1$", asm, re.MULTILINE)]


def test_a_loop_that_ends_anywhere_keeps_its_masks_in_mask_registers() -> None:
    asm = region(code(mandelbrot, MACHINES["avx512"]))
    assert re.search(r"vcmp\w*pd\s.*%zmm\d+, %k\d", asm)
    assert re.search(r"\{%k\d\}", asm), "values are kept under a mask"
    assert re.search(r"kortest|ktest", asm), "the loop ends when no lane is left"
    assert "cmpltsd" not in asm and "ucomisd" not in asm


@pytest.mark.parametrize(("machine", "register"), [("avx512", "zmm"), ("v3", "ymm")])
def test_a_matrix_product_is_fused_multiplications_without_spills(machine: str, register: str) -> None:
    asm = region(code(gemm, MACHINES[machine]))
    loop = max(innermost(asm), key=lambda text: text.count("vfmadd"))
    assert len(re.findall(rf"vfmadd\w+ps\s.*%{register}", loop)) >= 8
    assert "%rsp" not in loop, loop


def test_functions_of_vectors_are_called_directly() -> None:
    if "_ZGV" not in attach('declare double @tanh(double) nounwind "lend-vector-math"', host()):
        pytest.skip("no vector library here")
    asm = region(code(hyperbolic, host()))
    assert re.search(r"_ZGV\wN\d+v_tanh\b", asm)
    assert not re.search(r"[^_]\btanh\b", asm)


def test_a_triad_has_stores_that_go_past_the_caches_and_a_fence_after_them() -> None:
    asm = region(code(triad, MACHINES["avx512"]))
    assert re.search(r"vmovntp[sd]\s+%zmm", asm)
    assert re.search(r"vmovup[sd]\s+%zmm\d+, ", asm), "and ordinary ones where that would not pay"


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("kernel", [mandelbrot, gemm, hyperbolic, triad, branches], ids=lambda kernel: kernel.__name__)
def test_tiles_are_compiled_for_each_machine(kernel: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel is branches:  # which would not pay
        tiling = Tiling(0, machine.vector_bytes // 4, 2, (1,), (0,))
        monkeypatch.setattr("lend.plan.regions.choose_tiling", lambda *_, **__: tiling)
    asm = region(code(kernel, machine))
    widths: dict[int, Callable[[str], bool]] = {
        16: lambda text: bool(re.search(r"%xmm\d|\bv\d+\.", text)) and not re.search(r"%[yz]mm", text),
        32: lambda text: "%ymm" in text and "%zmm" not in text,
        64: lambda text: "%zmm" in text,
    }
    assert widths[machine.vector_bytes](asm)
