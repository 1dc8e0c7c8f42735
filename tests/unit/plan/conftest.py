"""Makes `hand_built`, which the tests of plan and lower share, and `planned` importable."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "lower"), str(Path(__file__).parent)]
