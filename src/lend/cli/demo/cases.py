"""The demo's four cases: what runs, against what, and what counts as agreement.

Does: load the photograph, run kernel and reference in turn, compare them and take times.  Does not: print or draw.
Invariants: the first call of a kernel, which compiles it, is timed apart; of the later ones the quickest counts, which a busy
machine has disturbed least, and NumPy's and lend's runs alternate.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lend.cli.demo import kernels, reference
from lend.diagnostics.records import dataclass

Array = NDArray[Any]
Announce = Callable[[str, float], None]
"""Called with what is being done and the part of the case that is done, from 0 to 1."""


@dataclass(frozen=True)
class Outcome:
    """What one case gave. Times are in seconds; `difference` is the largest of any element; `note` names what was counted."""

    title: str
    file: str
    numpy_seconds: float
    lend_seconds: float
    first_call_seconds: float
    difference: float
    tolerance: float
    note: str
    same_counts: bool
    result: Array

    @property
    def agrees(self) -> bool:
        """Whether lend's result is NumPy's, within the tolerance."""
        return self.same_counts and self.difference <= self.tolerance

    @property
    def ratio(self) -> float:
        """How many times faster lend is than NumPy."""
        return self.numpy_seconds / self.lend_seconds

    @property
    def compile_seconds(self) -> float:
        """What the first call took longer than the later ones."""
        return max(0.0, self.first_call_seconds - self.lend_seconds)


@dataclass(frozen=True)
class Case:
    """`ours` and `theirs` return (result, steps); steps is 0 where there is nothing to count."""

    title: str
    file: str
    ours: Callable[[], tuple[Array, int]]
    theirs: Callable[[], tuple[Array, int]]
    tolerance: float

    def run(self, rounds: int, announce: Announce) -> Outcome:
        """Compile, run `rounds` times in turn with the reference, and compare."""
        announce("compiling", 0.0)
        (result, steps), first = timed(self.ours)
        lend_times: list[float] = []
        numpy_times: list[float] = []
        expected, expected_steps = result, steps
        for number in range(rounds):
            announce("NumPy", (2 * number + 1) / (2 * rounds + 1))
            (expected, expected_steps), seconds = timed(self.theirs)
            numpy_times.append(seconds)
            announce("lend", (2 * number + 2) / (2 * rounds + 1))
            (result, steps), seconds = timed(self.ours)
            lend_times.append(seconds)
        announce("done", 1.0)
        note = (
            "" if not expected_steps else f"{steps} steps" if steps == expected_steps else f"{steps} steps, not {expected_steps}"
        )
        difference = float(np.abs(result.astype(np.float64) - expected).max())
        return Outcome(
            self.title,
            self.file,
            numpy_seconds=min(numpy_times),
            lend_seconds=min(lend_times),
            first_call_seconds=first,
            difference=difference,
            tolerance=self.tolerance,
            note=note,
            same_counts=steps == expected_steps,
            result=result,
        )


def timed(run: Callable[[], tuple[Array, int]]) -> tuple[tuple[Array, int], float]:
    """What `run` returns, and the seconds it took."""
    start = perf_counter()
    result = run()
    return result, perf_counter() - start


def photograph() -> NDArray[np.float32]:
    """Grace Hopper in 1984, a photograph that comes with Matplotlib: three planes of 600 x 512 values from 0 to 1."""
    cbook: Any = importlib.import_module("matplotlib.cbook")
    image: Any = importlib.import_module("matplotlib.image")
    path = Path(str(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)))
    pixels: NDArray[np.uint8] = image.imread(path)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)


def cases(picture: NDArray[np.float32], plate_size: int) -> list[Case]:
    """The four cases, for `picture` and a square plate of `plate_size` points a side."""
    sigma, radius = 3.0, 9
    weights = reference.gaussian_weights(sigma, radius)
    widths = {"distance": 3.0, "contrast": 0.15}
    reach = 5

    def blur() -> tuple[Array, int]:
        blurred = np.empty_like(picture)
        kernels.gaussian_blur(picture, weights, blurred, R=radius)
        return blurred, 0

    def edges() -> tuple[Array, int]:
        steepness = np.empty(picture.shape[1:], np.float32)
        kernels.sobel_edges(picture, steepness)
        return steepness, 0

    def smooth() -> tuple[Array, int]:
        smoothed = np.empty_like(picture)
        kernels.bilateral(picture, smoothed, R=reach, **widths)
        return smoothed, 0

    cold, tolerance, limit = cold_plate(plate_size), 1e-4, 100_000

    def heat() -> tuple[Array, int]:
        plate, following = cold.copy(), cold.copy()
        steps = kernels.settle_heat(plate, following, tolerance, limit)
        return plate, steps

    def scipy_blur() -> tuple[Array, int]:
        return reference.gaussian_blur(picture, sigma, radius), 0

    def scipy_edges() -> tuple[Array, int]:
        return reference.sobel_edges(picture), 0

    def numpy_smooth() -> tuple[Array, int]:
        return reference.bilateral(picture, reach, **widths), 0

    def numpy_heat() -> tuple[Array, int]:
        return reference.settle_heat(cold, tolerance, limit)

    return [
        Case("Gaussian blur", "blur.png", blur, scipy_blur, 1e-5),
        Case("Sobel edges", "edges.png", edges, scipy_edges, 1e-5),
        Case("Bilateral filter", "bilateral.png", smooth, numpy_smooth, 1e-5),
        Case("Heat in a plate", "heat.png", heat, numpy_heat, 1e-12),
    ]


def cold_plate(size: int) -> NDArray[np.float64]:
    """A plate of 0 °C whose upper rim is warmed to 100 °C in its middle and whose left rim has two warm places."""
    plate = np.zeros((size, size))
    along = np.linspace(0.0, np.pi, size)
    plate[0, :] = 100.0 * np.sin(along)
    plate[:, 0] = 60.0 * np.sin(2 * along) ** 2
    return plate
