"""What type checkers accept in `public_surface.py` also runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import lend


def test_the_public_surface_runs() -> None:
    threads = lend.config.threads
    surface = runpy.run_path(str(Path(__file__).with_name("public_surface.py")))
    x = np.ones(8, np.float32)
    try:
        surface["calls"](x, np.ones(4), np.zeros((3, 5), np.uint8))
        surface["settings"]()
        surface["errors"](x)
    finally:
        lend.config.threads = threads
