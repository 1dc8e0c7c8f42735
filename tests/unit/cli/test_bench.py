"""`lend bench --compile`: a table by pipeline step, for kernels of a file and for those that come with lend."""

from __future__ import annotations

from pathlib import Path

import pytest

from lend import cli
from lend.cli.bench import LIMIT, above_limit
from lend.driver.measure import Cost

FILE = """
import numpy as np
import lend
from lend import Mut, Ref, f32, f64
from lend.dims import N

@lend.kernel
def double(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= 2.0

@lend.kernel
def scaled(n: lend.comptime[int], x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= n

scaled(3, np.ones(4))
"""


def test_the_kernels_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two_kernels_to_measure.py"
    file.write_text(FILE)
    assert cli.main(["bench", "--compile", "--repeat", "1", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("kernel"))
    steps = "parse typecheck check schedule plan lower emit total parse_ir optimise generate load"
    assert head.split()[1:13] == steps.split()
    for name in ("double", "scaled", "median", "largest"):
        (row,) = [line.split() for line in lines if line.startswith(name)]
        times = [float(cell) for cell in row[1:13]]
        assert len(times) == 12 and min(times) >= 0
        if name in ("double", "scaled"):  # a median of sums is not the sum of medians, nor is a largest sum
            assert sum(times[:7]) == pytest.approx(times[7], abs=0.5)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--compile", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_kernels_above_the_limit_are_named_with_their_dearest_step() -> None:
    def cost(name: str, **steps: float) -> Cost:
        return Cost(name, steps, {}, 1, 1)

    quick, slow, slowest = (
        cost("quick", check=LIMIT / 2, emit=LIMIT / 2),
        cost("slow", check=LIMIT, emit=0.01),
        cost("slowest", check=0.1, emit=0.3),
    )
    assert above_limit([quick]) == "1 kernel; above 150 ms: 0"
    assert above_limit([slow, quick, slowest]).splitlines() == [
        "3 kernels; above 150 ms: 2",
        "  slowest: 400 ms, of which emit 300",
        "  slow: 160 ms, of which check 150",
    ]
