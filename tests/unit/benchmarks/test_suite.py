"""`lend bench` end to end, with the contenders that are everywhere, and what it makes of its times. Nothing here is timed."""

import json
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from lend import cli

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import memory, ratios, report, worker  # noqa: E402
from benchmarks.cases import FAMILIES, cases  # noqa: E402
from benchmarks.rounds import Row  # noqa: E402

CASES = {case.name: case for case in cases()}


def row(kernel: str = "copy", bound: str = "memory", size: int = 1 << 20, **times: list[float]) -> Row:
    named = {name.replace("_", " "): dict(enumerate(taken)) for name, taken in times.items()}
    return Row(kernel, "here", bound, size, traffic=1000, flops=10, times=named)


def results(*rows: Row) -> report.Results:
    return report.Results(list(rows), "a machine", "lend 0", threads=2, cache=32 << 20)


# ------------------------------------------------------------------------------------------------------ end to end


def test_a_small_run_prints_a_table_and_keeps_every_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = tmp_path / "r.json", tmp_path / "page.md"
    page.write_text("before\n<!-- table: benchmarks -->\nold\n<!-- end: benchmarks -->\nafter\n")
    options = ["--kernels", "daxpy", "--contenders", "lend,NumPy", "--quick", "--rounds", "6"]
    assert cli.main(["bench", *options, "--json", str(out), "--into", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "| daxpy | 32 K |" in printed and "geometric means" in printed
    found = report.Results.from_json(json.loads(out.read_text()))
    assert [len(found.rows[0].times[name]) for name in ("lend", "NumPy")] == [6, 6]
    assert min(min(times.values()) for times in found.rows[0].times.values()) > 0
    text = page.read_text()
    assert text.startswith("before\n<!-- table: benchmarks -->\n") and text.endswith("<!-- end: benchmarks -->\nafter\n")
    assert "| daxpy | 32 K |" in text and "old" not in text
    assert cli.main(["bench", "--read", str(out)]) == 0
    assert report.table(found) in capsys.readouterr().out


def test_the_list_names_every_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f": {name} at " in listed for name in CASES)


def test_an_unknown_kernel_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "--kernels", "gemm,nothing"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "no kernel or family nothing" in said and "gemm" in said


def test_a_contender_that_is_not_there_is_left_out_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--kernels",
        "sum",
        "--contenders",
        "lend,Taichi,NumPy",
        "--quick",
        "--rounds",
        "1",
        "--taichi-python",
        sys.executable,
    ]
    blocked = Path(ROOT) / "taichi"
    if blocked.exists() or __import__("importlib.util").util.find_spec("taichi"):
        pytest.skip("Taichi is there")
    assert cli.main(["bench", *options]) == 0
    said = capsys.readouterr()
    assert "Taichi is left out: ModuleNotFoundError" in said.err
    assert "| sum | 32 K |" in said.out


def test_who_is_not_asked_for_is_not_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.json"
    options = ["--kernels", "sum", "--contenders", "lend", "--quick", "--rounds", "1", "--json", str(out)]
    assert cli.main(["bench", *options]) == 0
    assert list(json.loads(out.read_text())["rows"][0]["times"]) == ["lend"]


# ------------------------------------------------------------------------------------------------------------ cases


def test_every_family_has_its_kernels_in_lend_numpy_and_cpp() -> None:
    for name, case in CASES.items():
        assert case.family in FAMILIES
        assert callable(getattr(case.module("lend"), name))
        assert callable(getattr(case.module("numpy"), name))
        source = Path(ROOT, "benchmarks", "kernels", case.family, "in_cpp.cpp").read_text()
        assert f"BENCHMARK({name})" in source
        for language in ("numba", "taichi", "warp"):
            text = Path(ROOT, "benchmarks", "kernels", case.family, f"in_{language}.py").read_text()
            assert f"def {name}(" in text or f"\n{name} = " in text or (language, name) == ("warp", "min_location")


def test_arguments_are_the_same_in_every_process_and_lie_alike() -> None:
    for case in CASES.values():
        plain = case.make(case.test_extents[-1])
        placed = case.make(case.test_extents[-1], memory.empty)
        for one, other in zip(plain, placed, strict=True):
            np.testing.assert_array_equal(one, other)
            if isinstance(other, np.ndarray) and other.size:
                assert other.ctypes.data % memory.PAGE == memory.LINE


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    case = CASES["add"]
    right = {"returned": np.zeros(0), "2": np.linspace(1.0, 2.0, 50)}
    reference = str(tmp_path / "reference.npz")
    np.savez(reference, **right)
    assert worker.disagreement(case, right, reference) == ""
    assert worker.disagreement(case, {**right, "2": right["2"] * (1 + 1e-14)}, reference) == ""
    wrong = right["2"].copy()
    wrong[7] = np.nan
    assert worker.disagreement(case, {**right, "2": wrong}, reference).startswith("2: nan instead of 1.14")


# ----------------------------------------------------------------------------------------------------------- ratios


def test_the_interval_of_a_median_covers_it_as_often_as_it_says() -> None:
    generator = random.Random(3)
    covered = 0
    for _ in range(2000):
        low, high = ratios.interval([generator.random() for _ in range(25)])
        covered += low <= 0.5 <= high
    assert 0.945 <= covered / 2000 <= 0.975  # of 25 values: ranks 8 and 18, 95.7 %


def test_the_interval_is_of_order_statistics() -> None:
    assert ratios.interval(list(range(1, 26))) == (8, 18)
    assert ratios.interval([3, 1, 2, 6, 5, 4]) == (1, 6)
    assert all(math.isnan(end) for end in ratios.interval([1, 2, 3, 4, 5]))


def test_a_ratio_is_paired_by_round() -> None:
    found = ratios.ratio(row(lend=[1.0, 10.0, 1.0], Numba=[2.0, 20.0, 2.0]), "Numba")
    assert found is not None and found.value == 2.0
    sparse = row(lend=[1.0, 2.0, 3.0])
    sparse.times["Numba"] = {2: 9.0}
    found = ratios.ratio(sparse, "Numba")
    assert found is not None and found.value == 3.0


def test_cpp_is_the_better_of_its_builds_and_warp_meets_lend_on_one_thread() -> None:
    given = row(lend=[1.0], Warp=[6.0])
    given.times |= {"g++": {0: 3.0}, "clang++": {0: 2.0}, ratios.ALONE: {0: 2.0}}
    cpp, warp = ratios.ratio(given, "C++"), ratios.ratio(given, "Warp")
    assert cpp is not None and (cpp.value, cpp.by) == (2.0, "clang++")
    assert warp is not None and warp.value == 3.0
    assert ratios.ratio(given, "Taichi") is None


def test_groups_follow_the_footprint() -> None:
    sizes = {"in cache": 16 << 20, "near the cache's size": 40 << 20, "out of cache": 49 << 20}
    for words, size in sizes.items():
        assert ratios.group(row(size=size), 32 << 20) == f"memory-bound, {words}"
    assert ratios.group(row(bound="compute", size=1 << 30), 32 << 20) == "compute-bound"


# ----------------------------------------------------------------------------------------------------------- report


def test_the_report_has_means_losses_and_the_machine() -> None:
    fast = row("copy", lend=[1e-6] * 9, Numba=[2e-6] * 9, NumPy=[8e-6] * 9)
    slow = row("add", lend=[1e-6] * 9, Numba=[5e-7] * 9)
    page = report.page(results(fast, slow))
    assert "| memory-bound, in cache | 2 | 1.00 | 8.00 |" in page
    assert "lend is the quickest in 1 of 2 rows, but for:\n\n- add here: Numba 0.50" in page
    assert "| copy | here | 1 µs | 1 GB/s | 2.00 | 8.00 |" in page
    assert page.endswith("C++ with `-O3 -march=native -fopenmp`.\n") and "a machine" in page


def test_results_come_back_from_json() -> None:
    given = results(row(lend=[1.0, 2.0], Numba=[2.0, 3.0]))
    assert report.Results.from_json(json.loads(json.dumps(given.as_json()))) == given


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    given = row(lend=[1.0] * 7, NumPy=[3.0] * 7)
    given.times["g++"] = dict.fromkeys(range(7), 2.0)
    assert report.plot(results(given), tmp_path / "plot.svg")
    assert "](docs/plot.svg)" in report.page(results(given), "docs/plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
