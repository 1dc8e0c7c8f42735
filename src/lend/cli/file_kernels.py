"""The kernels of a Python file.

Does: import the file and note which kernels it makes.  Does not: compile them.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lend.cli.check.collect import import_file
from lend.driver.kernel import Kernel
from lend.driver.listening import listen


def kernels_of(file: Path, command: str) -> list[Kernel[..., Any]] | None:
    """The kernels that a file makes when it is imported; None if that fails, which is said on standard error."""
    made: list[Kernel[..., Any]] = []

    def keep(python: Callable[..., Any], make: Callable[[], Any]) -> Any:
        kernel = make()
        if not python.__module__.startswith("lend."):
            made.append(kernel)
        return kernel

    if not file.is_file():
        print(f"{command}: there is no file {file}", file=sys.stderr)
        return None
    listen(keep)
    try:
        import_file(file.resolve())
    except SystemExit:
        pass
    except Exception:  # the user's file, which may raise anything: it is shown as Python would show it
        traceback.print_exc()
        return None
    finally:
        listen(None)
    return made
