"""How the demo shows what it found: a progress bar, a table, pictures.

Does: print with Rich, draw with Matplotlib.  Does not: compute or judge.
Invariants: both libraries are loaded here and nowhere else; no window is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lend.cli.demo.cases import Outcome
from lend.cli.machine import machine, software
from lend.runtime.settings import config


@contextmanager
def progress_bar() -> Generator[Callable[[str, float], None]]:
    """A bar over the four cases; the value is called with the words beside it and the part of the current case that is done."""
    progress: Any = importlib.import_module("rich.progress")
    with progress.Progress(
        progress.TextColumn("{task.description:34}"), progress.BarColumn(), progress.TimeElapsedColumn(), transient=True
    ) as bar:
        task = bar.add_task("loading", total=4.0)
        finished = 0

        def step(text: str, done: float) -> None:
            nonlocal finished
            bar.update(task, description=text, completed=finished + done)
            finished += done == 1.0

        yield step


def show_table(outcomes: Sequence[Outcome], rounds: int) -> None:
    """Print the table of times and differences, with the machine's name under it."""
    console: Any = importlib.import_module("rich.console").Console()
    table: Any = importlib.import_module("rich.table").Table(box=None, padding=(0, 1, 0, 0))
    for column in ("", "NumPy", "lend", "ratio", "compile", "threads", "largest\ndifference", "agrees"):
        table.add_column(column, justify="left" if column == "" else "right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            outcome.title + (f"\n  {outcome.note}" if outcome.note else ""),
            duration(outcome.numpy_seconds),
            duration(outcome.lend_seconds),
            f"{outcome.ratio:.1f}x",
            duration(outcome.compile_seconds),
            str(config.threads),
            f"{outcome.difference:.1e}",
            "[green]yes[/]" if outcome.agrees else "[bold red]NO[/]",
        )
    console.print(table)
    console.print(f"{machine()}; {software()}.", highlight=False, soft_wrap=True)
    runs = "of one run" if rounds == 1 else f"the best of {rounds} runs, in turn"
    for outcome in outcomes:
        if not outcome.agrees:
            console.print(f"[bold red]{outcome.title} differs:[/] at most {outcome.tolerance:.0e} is allowed.", soft_wrap=True)
    console.print(f"Times are {runs}; compile is what the first call took longer.", highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def write_pictures(out: Path, picture: NDArray[np.float32], outcomes: Sequence[Outcome]) -> list[Path]:
    """Write the photograph, each result and one figure with all of them as PNG files; the files written, the figure first."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    out.mkdir(parents=True, exist_ok=True)

    shown = [("Photograph", "photograph.png", as_pixels(picture))]
    shown += [(outcome.title, outcome.file, as_pixels(outcome.result)) for outcome in outcomes]
    paths = [out / "demo.png"]
    figure, axes = pyplot.subplots(1, len(shown), figsize=(3.2 * len(shown), 4.2), layout="constrained")
    for axis, (title, file, pixels) in zip(axes, shown, strict=True):
        colours = "inferno" if pixels.ndim == 2 and pixels.shape[0] == pixels.shape[1] else "gray"
        axis.imshow(pixels, cmap=colours)
        axis.set_title(title)
        axis.axis("off")
        pyplot.imsave(out / file, pixels, cmap=colours)
        paths.append(out / file)
    figure.savefig(paths[0], dpi=110)
    pyplot.close(figure)
    return paths


def as_pixels(result: NDArray[Any]) -> NDArray[Any]:
    """Planes as an H x W x 3 picture within 0 .. 1; a single plane as it is."""
    return np.clip(result.transpose(1, 2, 0), 0.0, 1.0) if result.ndim == 3 else result
