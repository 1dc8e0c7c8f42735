"""Makes `hand_built`, which the tests of plan and lower share, importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lower"))
