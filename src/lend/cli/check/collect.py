"""Imports a file and writes down every kernel's verdicts: what `lend check` runs in a process of its own.

Does: import the file with a listener that keeps the kernels, and goes on where one is refused.  Does not: lay anything out.
Invariants: nothing of the file's own output reaches standard output; a report is written unless the process itself dies.

Example: `python -m lend.cli.check.collect heat.py report.json`
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from lend.cli.check.report import VERSION, Ended, KernelEntry, Report, diagnostic_entries, kernel_entry
from lend.diagnostics.errors import CompileError, LendError
from lend.diagnostics.proofs import Proofs
from lend.driver.kernel import Kernel
from lend.driver.listening import listen


class CallsRefused(Exception):
    """A kernel calls one that has been refused: nothing can be said about it."""


class RefusedKernel:
    """Stands in the place of a refused kernel: the file can pass it around, and using it raises the refusal."""

    __lend_kernel__ = True

    def __init__(self, python: Callable[..., Any], error: CompileError) -> None:
        self.__wrapped__ = python
        self.__name__ = python.__name__
        self.__doc__ = python.__doc__
        self._error = error

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error

    def __getattr__(self, name: str) -> Any:
        if name in ("py", "lower", "proofs"):
            raise self._error
        raise AttributeError(name)

    def on(self, device: str) -> RefusedKernel:
        """Itself, as a kernel on a device."""
        return self

    def front_end(self) -> NoReturn:
        """What another kernel asks for to call this one."""
        raise CallsRefused(self.__name__)


@dataclass
class Collector:
    """The kernels of a file, in the order in which they were made."""

    file: str
    made: list[tuple[Callable[..., Any], Kernel[..., Any] | CompileError | CallsRefused]] = field(
        default_factory=list[tuple[Callable[..., Any], "Kernel[..., Any] | CompileError | CallsRefused"]]
    )

    def __call__(self, python: Callable[..., Any], make: Callable[[], Any]) -> Any:
        """The listener: make a kernel, and keep it or its refusal."""
        code = getattr(python, "__code__", None)
        ours = str(getattr(python, "__module__", "")).partition(".")[0] == "lend"
        if code is None or (ours and code.co_filename != self.file):
            return make()
        try:
            kernel = make()
        except CompileError as error:
            self.made.append((python, error))
            return RefusedKernel(python, error)
        except CallsRefused as error:
            self.made.append((python, error))
            inner = f"`{python.__name__}` calls the kernel `{error}`, which is refused"
            return RefusedKernel(python, _Unjudged(inner))
        self.made.append((python, kernel))
        return kernel

    def refused(self, error: BaseException) -> bool:
        """Whether an error is the refusal of a kernel that was collected."""
        return isinstance(error, _Unjudged) or any(found is error for _, found in self.made)

    def report(self, ended: Ended | None, error: CompileError | None) -> Report:
        """What is known of the kernels now. `error`: the refusal of a call that ended the import."""
        report: Report = {"version": VERSION, "file": self.file, "kernels": [], "diagnostics": [], "ended": ended}
        for python, found in self.made:
            here = python.__code__.co_filename == self.file
            for entry in _entries(python, found):
                if here and entry not in report["kernels"]:  # a factory may make one kernel many times
                    report["kernels"].append(entry)
                elif not here:
                    report["diagnostics"] += entry["diagnostics"]
        if error is not None and not self.refused(error):
            self._add_call(report, error)
        return report

    def _add_call(self, report: Report, error: CompileError) -> None:
        """A kernel was refused for the types of a call: it has an entry more."""
        for diagnostic in error.diagnostics:
            span = diagnostic.primary.span
            around = [
                python
                for python, found in self.made
                if isinstance(found, Kernel)
                and python.__code__.co_filename == span.source.filename == self.file
                and python.__code__.co_firstlineno <= span.line
            ]
            if around:
                python = max(around, key=lambda python: python.__code__.co_firstlineno)
                report["kernels"].append(kernel_entry(python, "refused", error.proofs, {}, error.diagnostics))
                return
        report["diagnostics"] += diagnostic_entries(error.diagnostics)


class _Unjudged(CompileError):
    """The refusal of a kernel that could not be judged: it has no diagnostics of its own."""

    def __init__(self, message: str) -> None:
        super().__init__(())
        self.args = (message,)


def _entries(python: Callable[..., Any], found: Kernel[..., Any] | CompileError | CallsRefused) -> list[KernelEntry]:
    """A kernel's entries: one for its signature's types if these are known, one for each other choice that it was called with."""
    if isinstance(found, CompileError):
        return [kernel_entry(python, "refused", found.proofs, {}, found.diagnostics)]
    if isinstance(found, CallsRefused):
        return [kernel_entry(python, "open", Proofs(), {}, note=f"it calls the kernel `{found}`, which is refused")]
    entries: list[KernelEntry] = []
    try:
        entries += [kernel_entry(python, "accepted", proofs, choices) for choices, proofs in found.judged()]
    except CompileError as error:
        entries.append(kernel_entry(python, "refused", error.proofs, {}, error.diagnostics))
    if not entries:
        note = "a compile-time value or the length of a tuple is known at a call only, and the file makes none"
        entries.append(kernel_entry(python, "open", Proofs(), {}, note=note))
    return entries


# ------------------------------------------------------------------------------------------------ importing


def collect(file: Path) -> Report:
    """Import a file and report on its kernels."""
    collector = Collector(str(file))
    listen(collector)
    ended: Ended | None = None
    refusal: CompileError | None = None
    try:
        import_file(file)
    except SystemExit as stop:
        if stop.code not in (None, 0):
            ended = {
                "kind": "exit",
                "line": _line(stop, file),
                "message": f"it called sys.exit({stop.code!r})",
                "traceback": None,
            }
    except CompileError as error:
        refusal = error
        message = "it uses a refused kernel" if collector.refused(error) else "a call was refused"
        ended = {"kind": "refused", "line": _line(error, file), "message": message, "traceback": None}
    except LendError as error:
        message = f"{type(error).__name__}: {error}"
        ended = {"kind": "error", "line": _line(error, file), "message": message, "traceback": None}
    except Exception as error:
        message = "".join(traceback.format_exception_only(error)).strip()
        ended = {"kind": "error", "line": _line(error, file), "message": message, "traceback": _own_traceback(error)}
    finally:
        listen(None)
    return collector.report(ended, refusal)


def import_file(file: Path) -> None:
    """Import a file as its program would: as a part of its package, or by itself with its folder on the path."""
    root, name = file.parent, file.stem
    while (root / "__init__.py").exists() and root.parent != root:
        root, name = root.parent, f"{root.name}.{name}"
    sys.path.insert(0, str(root))
    sys.argv = [str(file)]
    if "." in name:
        importlib.import_module(name.removesuffix(".__init__"))
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:  # no `.py` at its end
        from importlib.machinery import SourceFileLoader

        spec = importlib.util.spec_from_loader(name, SourceFileLoader(name, str(file)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without what led to the file."""
    here = os.path.normcase(__file__)
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if os.path.normcase(name) != here and not name.startswith("<frozen importlib") and "importlib" not in Path(name).parts:
            break
        trace = trace.tb_next
    return trace


def _own_traceback(error: Exception) -> str:
    return "".join(traceback.format_exception(error.with_traceback(_own_frames(error.__traceback__))))


def _line(error: BaseException, file: Path) -> int | None:
    """The line at which the import of the file met an error."""
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
    if lines:
        return lines[0]
    return error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None


def main() -> None:
    """Collect the file that is the first argument; the report goes to the second."""
    os.dup2(2, 1)  # what the file prints
    file, target = Path(sys.argv[1]), Path(sys.argv[2])
    report = collect(file)
    sys.stdout.flush()
    target.write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
