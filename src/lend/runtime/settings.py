"""Settings: the only reader of the environment.

Does: read `LEND_*` once, at first use; let a program change them; give a frozen snapshot, which every part works from.
Does not: act on them.
Invariants: a `Settings` never changes; what was said in the program wins over the environment; a wrong value is reported when
it is read or set, never ignored.

| variable | `lend.config` | meaning |
|---|---|---|
| `LEND_DEVICE` | `device` | where NumPy arguments run: `cpu`, `opencl:0`, … or `auto` |
| `LEND_THREADS` | `threads` | how many threads run a parallel loop; default: the processors this process may use |
| `LEND_CACHE_DIR` | `cache_dir` | where compiled kernels are kept; default `~/.cache/lend` |
| `LEND_CACHE` | `cache` | `0`: keep nothing on disk |
| `LEND_CACHE_LIMIT` | `cache_limit` | how many megabytes of compiled kernels are kept; default 512 |
| `LEND_DUMP` | `dump` | steps of the pipeline to print, separated by commas, or `all` |
| `LEND_VERIFY` | `verify` | `1`: check the trees after every step of the pipeline |
| `LEND_ELEMENTS` | `elements` | elements that a thread of a device does side by side: 1, 2, 4, 8 or 16; default 1 |
| `LEND_NATIVE` | `native` | `0`: bind every call in Python, even those that machine code could bind |

Example: `lend.config.threads = 4`.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from lend.diagnostics.errors import DeviceError, LendError
from lend.diagnostics.records import dataclass

KINDS = ("cpu", "opencl", "cuda", "hip")
"""The kinds of devices; `opencl:1` is the second of its kind, `opencl` the first."""

HERE = ("cpu", "auto")
"""Where NumPy arguments are used in place."""

_DEVICE = re.compile(r"([a-z]+)(?::(\d{1,4}))?")

MOST_THREADS = 1024

ELEMENTS = (1, 2, 4, 8, 16)
"""How many elements a thread of a device may do."""


@dataclass(frozen=True)
class Settings:
    """All settings at one moment."""

    device: str
    threads: int
    cache_dir: Path
    cache: bool
    cache_limit: int
    dump: tuple[str, ...]
    verify: bool
    native: bool
    elements: int


def available_processors() -> int:
    """How many processors this process may run on."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def device_name(value: str) -> tuple[str, int]:
    """The kind and the number of a device, from its name. Raises DeviceError for what is no name of one."""
    match = _DEVICE.fullmatch(value)
    if match is None or match[1] not in KINDS or (match[1] == "cpu" and match[2]):
        raise DeviceError(f"there is no device {value!r}; there are: {_NAMES} (lend.devices() lists them)")
    return match[1], int(match[2] or 0)


_NAMES = ", ".join(kind if kind == "cpu" else f"{kind}:0" for kind in KINDS)


def _device(value: Any, name: str) -> str:
    try:
        if isinstance(value, str) and (value == "auto" or device_name(value)):
            return value if value in HERE or ":" in value else f"{value}:0"
    except DeviceError:
        pass
    raise DeviceError(f"{name} is {value!r}, and devices are called {_NAMES}, … (or auto, which chooses one)")


def _count(value: Any, name: str, most: int) -> int:
    try:
        count = int(value) if isinstance(value, str) else value
    except ValueError:
        count = None
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= most:
        return count
    raise LendError(f"{name} is {value!r}, and must be a whole number from 1 to {most}")


def _threads(value: Any, name: str) -> int:
    return _count(value, name, MOST_THREADS)


def _megabytes(value: Any, name: str) -> int:
    return _count(value, name, 1 << 20)


def _elements(value: Any, name: str) -> int:
    try:
        count = int(value) if isinstance(value, str) else value
    except ValueError:
        count = None
    if isinstance(count, int) and not isinstance(count, bool) and count in ELEMENTS:
        return count
    raise LendError(f"{name} is {value!r}, and must be 1, 2, 4, 8 or 16")


def _path(value: Any, name: str) -> Path:
    if isinstance(value, (str, os.PathLike)) and os.fspath(value):  # pyright: ignore[reportUnknownArgumentType]
        return Path(os.fspath(value)).expanduser()  # pyright: ignore[reportUnknownArgumentType]
    raise LendError(f"{name} is {value!r}, and must be a folder's name")


def _flag(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise LendError(f"{name} is {value!r}, and must be 1 or 0")


def _names(value: Any, name: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts):  # pyright: ignore[reportUnknownVariableType]
        return tuple(part.strip() for part in parts if part.strip())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    raise LendError(f"{name} is {value!r}, and must be names separated by commas")


def _default_cache_dir() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = os.path.join(home, "lend") if home else os.path.expanduser("~/.cache/lend")
    if not os.path.isabs(folder):  # as the XDG's specification has it; or there is no home
        import tempfile  # not for everyone

        folder = os.path.join(tempfile.gettempdir(), f"lend-{os.getuid() if hasattr(os, 'getuid') else 'cache'}")
    return Path(folder)


_READERS: dict[str, tuple[Callable[[Any, str], Any], Callable[[], Any]]] = {
    "device": (_device, lambda: "cpu"),
    "threads": (_threads, lambda: min(available_processors(), MOST_THREADS)),
    "cache_dir": (_path, _default_cache_dir),
    "cache": (_flag, lambda: True),
    "cache_limit": (_megabytes, lambda: 512),
    "dump": (_names, tuple),
    "verify": (_flag, lambda: False),
    "native": (_flag, lambda: True),
    "elements": (_elements, lambda: 1),
}
"""Each setting: how a value is checked, and its default."""


class Config:
    """The settings of the running program: `lend.config`. Reading gives the value in force, setting changes it."""

    device: str
    threads: int
    cache_dir: Path
    cache: bool
    cache_limit: int
    dump: tuple[str, ...]
    verify: bool
    native: bool
    elements: int

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.__dict__["_environment"] = environment
        self.__dict__["_said"] = {}
        self.__dict__["_snapshot"] = None
        self.__dict__["_versions"] = (ctypes.c_int64 * 4)(0, -1, -1, 0)

    @property
    def version(self) -> int:
        """A number that grows with every change. Whoever means to apply the settings reads it before them."""
        return self.__dict__["_versions"][0]

    @property
    def versions_address(self) -> int:
        """Where compiled code finds the version, the one that was applied to calls on the processor, the one that was applied to
        calls on devices, and how many elements each of their threads takes: four i64. Equal versions leave nothing to do.
        """
        return ctypes.addressof(self.__dict__["_versions"])

    def applied(self, version: int) -> None:
        """The settings of `version` are in force in compiled code too; -1: compiled code shall not act on its own."""
        self.__dict__["_versions"][1] = version

    def applied_on_devices(self, version: int, elements: int) -> None:
        """The same for calls that are led to a device whatever the settings say."""
        self.__dict__["_versions"][2:] = version, elements

    def snapshot(self) -> Settings:
        """The settings in force now; the environment is read at the first call."""
        snapshot: Settings | None = self.__dict__["_snapshot"]
        if snapshot is None:
            snapshot = self._read()
            self.__dict__["_snapshot"] = snapshot
        return snapshot

    def touch(self) -> None:
        """Have compiled code leave calls to Python until settings are applied again."""
        self.__dict__["_versions"][0] += 1

    def reset(self) -> None:
        """Forget what the program said and read the environment anew."""
        self.__dict__["_said"] = {}
        self._changed()

    def _changed(self) -> None:
        self.__dict__["_snapshot"] = None
        self.__dict__["_versions"][0] += 1

    def _read(self) -> Settings:
        environment: Mapping[str, str] = os.environ if self.__dict__["_environment"] is None else self.__dict__["_environment"]
        values: dict[str, Any] = {}
        for name, (check, default) in _READERS.items():
            variable = f"LEND_{name.upper()}"
            if name in self.__dict__["_said"]:
                values[name] = self.__dict__["_said"][name]
            elif environment.get(variable, "") != "":
                values[name] = check(environment[variable], variable)
            else:
                values[name] = default()
        return Settings(**values)

    def __getattr__(self, name: str) -> Any:
        if name not in _READERS:
            raise AttributeError(f"lend.config has no setting {name!r}; it has {', '.join(_READERS)}")
        return getattr(self.snapshot(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _READERS:
            raise AttributeError(f"lend.config has no setting {name!r}; it has {', '.join(_READERS)}")
        checked = _READERS[name][0](value, f"lend.config.{name}")
        if self.__dict__["_said"].get(name) != checked:
            self.__dict__["_said"][name] = checked
            self._changed()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_READERS]

    def __repr__(self) -> str:
        snapshot = self.snapshot()
        return f"lend.config({', '.join(f'{field.name}={getattr(snapshot, field.name)!r}' for field in fields(snapshot))})"


config = Config()
"""The settings of this program."""


def snapshot() -> Settings:
    """The settings in force now."""
    return config.snapshot()
