"""The demo: its kernels against NumPy and SciPy on small pictures, its verdicts, its pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lend import cli

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from lend.cli.demo import kernels, reference
from lend.cli.demo.cases import Case, cold_plate


def picture(height: int, width: int) -> NDArray[np.float32]:
    return np.random.default_rng(5).random((3, height, width), dtype=np.float32)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 9), (17, 5), (40, 33)])
class TestFiltersOnPicturesOfAnySize:
    """Pictures smaller than the filters reach are the borders' test."""

    def test_blur(self, height: int, width: int) -> None:
        image, out = picture(height, width), np.empty((3, height, width), np.float32)
        kernels.gaussian_blur(image, reference.gaussian_weights(2.0, 6), out, R=6)
        np.testing.assert_allclose(out, reference.gaussian_blur(image, 2.0, 6), atol=2e-6)

    def test_edges(self, height: int, width: int) -> None:
        image, out = picture(height, width), np.empty((height, width), np.float32)
        kernels.sobel_edges(image, out)
        np.testing.assert_allclose(out, reference.sobel_edges(image), atol=2e-6)

    def test_bilateral(self, height: int, width: int) -> None:
        image, out = picture(height, width), np.empty((3, height, width), np.float32)
        kernels.bilateral(image, out, 2.0, 0.2, R=3)
        np.testing.assert_allclose(out, reference.bilateral(image, 3, 2.0, 0.2), atol=2e-6)


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 10_000])
def test_heat_takes_the_same_steps_to_the_same_plate(limit: int) -> None:
    plate = cold_plate(20)
    following = plate.copy()
    expected, steps = reference.settle_heat(plate, 1e-2, limit)
    assert kernels.settle_heat(plate, following, 1e-2, limit) == steps
    np.testing.assert_allclose(plate, expected, rtol=0, atol=1e-12)


def test_a_case_that_differs_is_told_apart() -> None:
    zeros, ones = np.zeros(3), np.ones(3)
    say = lambda text, done: None  # noqa: E731
    assert Case("same", "", lambda: (ones, 4), lambda: (ones, 4), 1e-9).run(1, say).agrees
    assert not Case("other values", "", lambda: (zeros, 4), lambda: (ones, 4), 1e-9).run(1, say).agrees
    assert not Case("other steps", "", lambda: (ones, 5), lambda: (ones, 4), 1e-9).run(1, say).agrees
    assert not Case("not a number", "", lambda: (ones * np.nan, 4), lambda: (ones, 4), 1e-9).run(1, say).agrees


def test_demo_writes_its_pictures_and_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--quick", "--out", str(tmp_path / "pictures")]) == 0
    said = capsys.readouterr().out
    assert said.count("yes") == 4
    written = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert written == {"demo.png", "photograph.png", "blur.png", "edges.png", "bilateral.png", "heat.png"}
