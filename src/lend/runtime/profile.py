"""What calls cost: `with lend.profile() as p:`.

Does: note for each call made in the block its times and bytes; print a table, write a trace for Chrome or Perfetto, draw a
timeline.  Does not: measure anything itself (`driver/` and `device_launch.py` do, and only while somebody profiles).
Invariants: calls in the block are made one after the other, and each is waited for, so that its times are its own. Times of
kernels are the device's where it has a clock.

Example:
    with lend.profile() as p:
        saxpy.on("opencl:0")(2.0, x, y)
    print(p)
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass
class Call:
    """A call of a kernel. Times are in seconds, `start` since the block began; `launches`: parallel loops begun on a device."""

    kernel: str
    device: str
    start: float
    compile: float = 0.0
    to_device: float = 0.0
    kernel_time: float = 0.0
    from_device: float = 0.0
    total: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    launches: int = 0


class Profile:
    """The calls of a block, in order."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.calls: list[Call] = []
        self._changed = changed  # called when profiling begins or ends
        self._began = 0.0
        self._outer: Profile | None = None

    def __enter__(self) -> Profile:
        global active
        self._began = time.perf_counter()
        self._outer, active = active, self
        self._changed()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global active
        active = self._outer
        self._changed()

    def begin(self, kernel: str, device: str) -> Call:
        """A call that begins now."""
        call = Call(kernel, device, time.perf_counter() - self._began)
        self.calls.append(call)
        return call

    def end(self, call: Call) -> None:
        """It ends now."""
        call.total = time.perf_counter() - self._began - call.start

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def bytes_in(self) -> int:
        """All bytes copied to devices."""
        return sum(call.bytes_in for call in self.calls)

    @property
    def bytes_out(self) -> int:
        """All bytes copied from devices."""
        return sum(call.bytes_out for call in self.calls)

    def __str__(self) -> str:
        head = ("kernel", "device", "compile", "to device", "kernel time", "from device", "total", "bytes in", "bytes out")
        rows = [
            (
                call.kernel,
                call.device,
                *(_time(t) for t in (call.compile, call.to_device, call.kernel_time, call.from_device, call.total)),
                f"{call.bytes_in:,}",
                f"{call.bytes_out:,}",
            )
            for call in self.calls
        ]
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        return "\n".join(
            "  ".join(
                text.ljust(width) if k < 2 else text.rjust(width) for k, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in [head, *rows]
        )

    def chrome(self, path: str | os.PathLike[str]) -> None:
        """Write a trace that chrome://tracing and ui.perfetto.dev show."""
        events = [
            {
                "name": name,
                "ph": "X",
                "pid": call.device,
                "tid": call.device,
                "ts": start * 1e6,
                "dur": length * 1e6,
                "args": arguments,
            }
            for call in self.calls
            for name, start, length, arguments in _parts(call)
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, file)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw a timeline with matplotlib, and save it if a file is named; gives the figure."""
        from importlib import import_module

        plots: Any = import_module("matplotlib.pyplot")
        devices = list(dict.fromkeys(call.device for call in self.calls))
        figure, axes = plots.subplots(figsize=(10, 1.5 + 0.6 * max(len(devices), 1)), layout="constrained")
        colours = {"compile": "tab:gray", "to device": "tab:blue", "from device": "tab:green"}
        for call in self.calls:
            for name, start, length, _ in _parts(call)[1:]:
                colour = colours.get(name, "tab:orange")
                axes.broken_barh([(start * 1e3, length * 1e3)], (devices.index(call.device) - 0.35, 0.7), facecolors=colour)
        axes.set(yticks=range(len(devices)), yticklabels=devices, xlabel="time (ms)", title="Calls of kernels")
        axes.legend(
            handles=[plots.Rectangle((0, 0), 1, 1, facecolor=c, label=n) for n, c in {**colours, "kernel": "tab:orange"}.items()],
            loc="upper right",
        )
        if path is not None:
            figure.savefig(path)
        return figure


active: Profile | None = None
"""Who profiles now, if anybody does."""


def _parts(call: Call) -> list[tuple[str, float, float, dict[str, Any]]]:
    """A call and its parts: name, start and length in seconds, what else is known."""
    parts: list[tuple[str, float, float, dict[str, Any]]] = [(call.kernel, call.start, call.total, {"launches": call.launches})]
    at = call.start
    for name, length, known in (
        ("compile", call.compile, {}),
        ("to device", call.to_device, {"bytes": call.bytes_in}),
        (f"{call.kernel} (kernel)", call.kernel_time, {}),
        ("from device", call.from_device, {"bytes": call.bytes_out}),
    ):
        if length > 0:
            parts.append((name, at, length, dict(known)))
            at += length
    return parts


def _time(seconds: float) -> str:
    if seconds == 0:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.4g} {unit}"
    return "-"
