"""The tables of code for devices that need not be here: how outcomes and figures are read, counted and worded."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lend
from lend import Out, Ref, comptime, f64
from lend.dims import N

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import device_code, device_cpp, device_quality  # noqa: E402
from tests.targets.device_kernels import needs  # noqa: E402

from lend.targets.hip import toolkit  # noqa: E402


@lend.kernel
def doubled(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]


@lend.kernel
def tiles(y: Out[f64, N], T: comptime[int]):
    assert N >= 1
    for b in lend.blocks((N + 255) // 256):
        kept = lend.shared(f64, T)
        for t in lend.threads(256):
            kept[t] = 1.0
            if b * 256 + t < N:
                y[b * 256 + t] = kept[t]


@lend.kernel
def refers_to_nothing(y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = there_is_no_such_name  # type: ignore[name-defined]  # noqa: F821


def compilation(kernel: Any) -> Any:
    return next(iter(kernel.compilations()))


@needs(toolkit.linker)
def test_outcomes_are_known_again_and_refusals_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiles(np.empty(3), 1 << 15)
    found, known = [compilation(doubled), compilation(tiles)], tmp_path / "known.jsonl"
    targets = ("hip:gfx90a", "hip:gfx1100")
    done = device_code.all_outcomes(found, targets, 1, known)
    kinds = {(each.kernel.partition(".")[2], each.target): each.kind for each in done}
    assert kinds == {
        ("doubled", "hip:gfx90a"): "linked", ("doubled", "hip:gfx1100"): "linked",
        ("tiles", "hip:gfx90a"): "refused", ("tiles", "hip:gfx1100"): "refused",
    }  # fmt: skip
    lines = list(device_code.table(done, targets))
    assert lines[1].split()[:5] == ["hip:gfx90a", "2", "1", "1", "0"]
    assert any("refused: line" in line and "262,144 bytes" in line for line in lines)
    assert lines[-1].endswith("tiles (all targets)")
    assert len(known.read_text().splitlines()) == 4
    monkeypatch.setattr(device_code.DeviceLowered, "resources", property(lambda self: pytest.fail("made again")))
    again = device_code.all_outcomes(found, targets, 1, known)
    assert [each.kind for each in again] == [each.kind for each in done]
    assert [each.registers for each in again] == [each.registers for each in done]
    assert len(known.read_text().splitlines()) == 6  # what is refused has no code that could be known
    json.loads(known.read_text().splitlines()[0])


def test_what_the_processor_refuses_is_no_failure_of_a_device() -> None:
    (outcome,) = device_code.all_outcomes([compilation(refers_to_nothing)], ("hip:gfx90a",), 1, None)
    assert (outcome.kind, outcome.why) == ("refused", "error[L0201]: the name `there_is_no_such_name` is not defined")


def test_a_kernel_that_fails_fails_the_run() -> None:
    found = device_code.Outcome("a.k", "cuda:sm_90", "failed", "ptxas refuses")
    lines = list(device_code.table([found], ("cuda:sm_90",)))
    assert lines[1].split()[:5] == ["cuda:sm_90", "1", "0", "0", "1"]
    assert lines[-2:] == ["\nfailed: ptxas refuses", "    a.k (all targets)"]


PTX = """
.visible .entry one(
	ld.global.nc.v2.f64 	{%fd1, %fd2}, [%rd58];
	ld.global.nc.v2.f32 	{%f1, %f2}, [%rd58];
	st.global.v4.b32 	[%rd1], {%r1, %r2, %r3, %r4};
	ld.global.b64 	%rd1, [%rd2];
.visible .entry two(
	ld.shared.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
"""
ASSEMBLY = """
one:                                    ; @one
	global_load_dwordx4 v[0:3], v8, s[0:1]
	global_load_dwordx2 v[0:1], v8, s[0:1]
two:
	global_store_dwordx4 v8, v[0:3], s[0:1]
.LBB1_2:
	ds_read_b128 v[0:3], v8
"""


def test_wide_accesses_are_counted_by_kernel() -> None:
    assert device_cpp.wide_accesses(PTX, "cuda") == {"one": 2, "two": 0}
    assert device_cpp.wide_accesses(ASSEMBLY, "hip") == {"one": 1, "two": 1}


def test_compilers_that_are_not_here_leave_their_column_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_cpp, "nvcc", lambda: None)
    assert device_cpp.compiled(device_quality.SOURCE, "cuda", ["ELEMENTS=1"]) == {}


@pytest.mark.skipif(device_cpp.clang() is None, reason="there is no clang++")
def test_the_paper_kernels_in_cpp_are_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    found = device_cpp.compiled(device_quality.SOURCE, "hip", ["ELEMENTS=2"])
    if not found:
        pytest.skip(capsys.readouterr().out)
    assert set(found) == set(device_quality.THEIRS)
    assert all(registers > 0 for registers, _ in found.values())
    assert found["energy_1"][1] >= 6


def test_a_miss_is_listed_with_its_cause_and_the_warps_that_fit() -> None:
    figures = {"lend": 32, "theirs": 28, "spilled": 0, "cpp": 32}
    row = {"kernel": "fir", "cuda": figures, "hip": {"lend": 4, "theirs": 8, "spilled": 0, "cpp": None}}
    (line,) = device_quality.misses([row])
    assert line.startswith("fir on sm_90: 32 for 28, 64 warps for 64: the suite's loop over the taps")
    assert line.endswith("of the loop as it is here C++ makes 32")
    row["cuda"] = {**figures, "lend": 28, "spilled": 8}
    assert len(list(device_quality.misses([row]))) == 1
