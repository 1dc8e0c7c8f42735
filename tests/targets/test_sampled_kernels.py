"""Kernels of `tests/run`, of the examples and of `lend.algorithms`, drawn by a seed: each has code for CUDA and HIP.

`benchmarks.device_code` does the same for all of them, and for what their tests call them with.
"""

from __future__ import annotations

import contextlib
import io
import random
import runpy
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.targets.device_kernels import needs

import lend
import lend.algorithms.folding
import lend.algorithms.histograms
import lend.algorithms.sorting
from lend.driver.inspected import DeviceLowered, named_target
from lend.driver.listening import current, listen
from lend.driver.pipeline import Compilation, run
from lend.targets.cuda import toolkit as nvidia
from lend.targets.hip import toolkit as amd

ROOT = Path(__file__).resolve().parents[2]
SEED = 6
FILES = 3
KERNELS = 4
"""Of each file."""

TARGETS = [
    *(pytest.param(f"cuda:{name}", marks=needs(nvidia.libdevice, nvidia.ptxas)) for name in ("sm_75", "sm_90", "sm_120")),
    *(pytest.param(f"hip:{name}", marks=needs(amd.linker, amd.ocml)) for name in ("gfx90a", "gfx942", "gfx1100")),
]


@contextlib.contextmanager
def heard() -> Iterator[list[Any]]:
    """The kernels that are made inside."""
    kernels: list[Any] = []
    before = current()

    def keep(python: Callable[..., Any], make: Callable[[], Any]) -> Any:
        kernels.append(make())
        return kernels[-1]

    listen(keep)
    try:
        yield kernels
    finally:
        listen(before)


def of_script(path: Path, name: str) -> list[Any]:
    """The kernels of a file that is run by that name."""
    places = [str(ROOT / "tests" / "run"), str(path.parent)]
    with heard() as kernels, pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setattr(sys, "path", [*places, *sys.path])
        runpy.run_path(str(path), run_name=name)
    return kernels


@cache
def drawn() -> list[Compilation]:
    """Scheduled kernels."""
    choices = random.Random(SEED)
    kernels: list[Any] = []
    files = [path for path in sorted((ROOT / "tests" / "run").glob("test_*.py")) if "lend.kernel" in path.read_text()]
    for path in choices.sample(files, FILES):
        made = of_script(path, path.stem)
        kernels += choices.sample(made, min(KERNELS, len(made)))
    kernels += of_script(choices.choice(sorted((ROOT / "examples").glob("*.py"))), "__main__")[:2]
    late = [
        value.kernel
        for module in (lend.algorithms.folding, lend.algorithms.histograms, lend.algorithms.sorting)
        for value in vars(module).values()
        if type(value).__name__ == "late_kernel"
    ]
    kernels += choices.sample(late, min(2, len(late)))
    found: list[Compilation] = []
    for kernel in kernels:
        for compilation in list(kernel.compilations())[:1]:
            found.append(run(compilation.fresh(), until="schedule"))
    return found


@pytest.mark.parametrize("elements", [1, 4])
@pytest.mark.parametrize("target", TARGETS)
def test_each_is_assembled_and_linked(target: str, elements: int) -> None:
    found = named_target(target)
    assert found is not None
    loops = 0
    for compilation in drawn():
        compilation.elements = elements
        try:
            made = DeviceLowered(compilation, found)
        except lend.DeviceError as refused:  # a limit of the device, which the message names
            assert "of memory that its threads share, and" in str(refused)
            continue
        assert not made.resources or made.object[:4] == b"\x7fELF", compilation.signature.kernel
        loops += len(made.resources)
    assert loops >= len(drawn()) // 2
