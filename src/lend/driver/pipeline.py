"""The pipeline: every step from a Python function to machine code, in order, in one list.

Does: run the steps, time each, dump its tree and verify it when asked.  Does not: do any step's work.
Invariants: a step reads what the steps before it wrote and writes one thing; a user's error ends the run with a CompileError, and
leaves nothing behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.errors import CompileError
from lend.diagnostics.records import dataclass
from lend.driver.launch_proofs import LaunchProofs, open_values
from lend.frontend.capture import Captured
from lend.frontend.typecheck import Checked
from lend.frontend.typecheck import typecheck as typed_tree
from lend.ir import syntax
from lend.ir.print import print_kernel
from lend.ir.typed import Kernel, Value
from lend.ir.verify import verify_kernel
from lend.language.signature import ArgumentType, ComptimeValue, Signature
from lend.language.types import MathMode, ScalarType

# The steps after `typecheck` are loaded when a kernel is first compiled: defining one needs no LLVM.
if TYPE_CHECKING:
    from lend.checks.judge import Judgement
    from lend.checks.require import Require
    from lend.ir.typed import Value
    from lend.lower.device.module import DeviceCode
    from lend.plan.regions import Plan
    from lend.targets.protocol import Module, TargetDevice


@dataclass
class Compilation:
    """One specialisation on its way through the pipeline; each step fills one field."""

    captured: Captured
    tree: syntax.Function
    signature: Signature
    types: tuple[ArgumentType, ...]
    typevars: Mapping[TypeVar, ScalarType]
    math: MathMode
    require: Require | None = None
    checked: Checked | None = None
    judgement: Judgement | None = None
    launch_proofs: LaunchProofs | None = None  # what is left to be decided at each call
    scheduled: Kernel | None = None
    plan: Plan | None = None
    ir: str | None = None
    module: Module | None = None
    device: TargetDevice | None = None  # for which it is compiled; None: the processor
    elements: int = 1  # that a thread of a device does where that can be
    code: DeviceCode | None = None  # both passes, where it is compiled for a device
    times: dict[str, float] = field(default_factory=dict[str, float])  # seconds, by step

    @property
    def kernel(self) -> Kernel:
        """The typed tree; once it is judged, with the barriers that follow branches and loops of unknown course."""
        if self.judgement is not None:
            return self.judgement.kernel
        assert self.checked is not None and self.checked.kernel is not None
        return self.checked.kernel

    def fresh(self) -> Compilation:
        """The same specialisation at the start of the pipeline."""
        again = Compilation(self.captured, self.tree, self.signature, self.types, self.typevars, self.math, self.require)
        again.device, again.elements = self.device, self.elements
        return again

    def choices(self) -> dict[str, str]:
        """What tells this specialisation from others of its kernel, as text: type variables and compile-time values."""
        values = {name.__name__: str(element) for name, element in self.typevars.items()}
        for spec, type in zip(self.signature.parameters, self.types, strict=True):
            if isinstance(type, ComptimeValue):
                text = getattr(type.value, "__name__", None) or repr(type.value)
                values[spec.name] = text if len(text) <= 40 else "..."
        return values


def typecheck(c: Compilation) -> None:
    """Untyped tree -> typed tree, unless the definition has made it."""
    if c.checked is None:
        c.checked = typed_tree(c.tree, c.captured, c.signature, c.types, c.typevars, c.math)
    if c.checked.kernel is None:
        raise CompileError([replace(d, notes=(*d.notes, *_specialised(c))) for d in c.checked.diagnostics])


def _specialised(c: Compilation) -> list[str]:
    """What an error of a call depends on beside the source, in words."""
    values = [f"`{name}` is `{value}`" for name, value in c.choices().items()]
    return [f"in this call {', '.join(values)}"] if values else []


def check(c: Compilation) -> None:
    """Typed tree -> its model -> verdicts, unless the definition has found them."""
    if c.judgement is None:
        from lend.checks.judge import judge

        c.judgement = judge(c.kernel)
    refused, values = refusals(c.kernel, c.judgement, c.require)
    if refused:
        raise CompileError([replace(d, notes=(*d.notes, *_specialised(c))) for d in refused], c.judgement.proofs)
    if values:
        c.launch_proofs = LaunchProofs(c.kernel, values)


def refusals(kernel: Kernel, judgement: Judgement, require: Require | None) -> tuple[tuple[Diagnostic, ...], tuple[Value, ...]]:
    """Why a judged kernel is refused; or, if it is not, the values that its calls are to be judged with."""
    from lend.checks.require import unmet

    values = open_values(kernel, judgement)
    if judgement.diagnostics and not values:
        return judgement.diagnostics, ()
    return (() if require is None else unmet(kernel.name, judgement.proofs)), values


def schedule(c: Compilation) -> None:
    """Typed tree and verdicts -> typed tree without the checks that are proved."""
    from lend.schedule.copies import without_copies
    from lend.schedule.fuse import fuse
    from lend.schedule.promote import promote
    from lend.schedule.versions import schedule

    assert c.judgement is not None
    scheduled = schedule(c.kernel, c.judgement, judged_again=c.launch_proofs is not None)
    c.scheduled = fuse(promote(without_copies(scheduled)))


def plan(c: Compilation) -> None:
    """Scheduled tree -> host pass and device regions."""
    from lend.plan.regions import plan
    from lend.targets.cpu.target import cpu

    assert c.scheduled is not None
    if c.device is not None:
        from lend.plan.device import device_plan

        c.plan = device_plan(c.scheduled, c.elements)
        return
    whole: frozenset[Value] | None = None
    if c.judgement is not None and c.launch_proofs is None and any(p.index is not None for p in c.kernel.parameters):
        from lend.checks.read_whole import read_whole

        whole = read_whole(c.judgement)
    c.plan = plan(c.scheduled, cpu().machine.vector_bytes, whole)


def lower(c: Compilation) -> None:
    """Plan -> LLVM IR."""
    from lend.lower.module import lower

    assert c.plan is not None
    if c.device is None:
        c.ir = lower(c.plan)
        return
    from lend.lower.device.module import lower_for_device

    c.code = lower_for_device(c.plan, c.device.abi)
    c.ir = f"{c.code.host}\n{c.code.device}"


def emit(c: Compilation) -> None:
    """LLVM IR -> machine code, loaded."""
    from lend.targets.cpu.target import cpu

    if c.device is not None:
        assert c.code is not None
        c.module = c.device.compile(c.code)
        return
    assert c.ir is not None
    c.module = cpu().compile(c.ir)


@dataclass(frozen=True)
class Step:
    """A named step, and how what it made prints."""

    name: str
    run: Callable[[Compilation], None]
    show: Callable[[Compilation], str]


def _show_proofs(c: Compilation) -> str:
    assert c.judgement is not None
    return "\n".join(map(str, c.judgement.proofs))


def _show_scheduled(c: Compilation) -> str:
    assert c.scheduled is not None
    return print_kernel(c.scheduled)


# `capture` and `parse` run once, when the kernel is defined (see `definition.py`).
STEPS: tuple[Step, ...] = (
    Step("typecheck", typecheck, lambda c: print_kernel(c.kernel)),
    Step("check", check, _show_proofs),
    Step("schedule", schedule, _show_scheduled),
    Step("plan", plan, lambda c: str(c.plan)),
    Step("lower", lower, lambda c: c.ir or ""),
    Step("emit", emit, lambda c: c.module.asm if c.module is not None else ""),
)


@contextmanager
def depth_limited(tree: syntax.Function) -> Generator[None]:
    """Python's recursion limit, met inside, is a refusal: what follows an early exit is nested in the other branch."""
    try:
        yield
    except RecursionError:
        label = Label(tree.span, "in this function")
        fix = "split it: move parts into functions, or test several conditions at once before `continue` or `return`"
        raise CompileError([Diagnostic("L0104", f"`{tree.name}` nests code too deeply", label, fix=fix)]) from None


def run(c: Compilation, *, until: str = "emit", dump: tuple[str, ...] = (), verify: bool = False) -> Compilation:
    """Run the steps up to and including `until`. Raises CompileError for a user's error."""
    for step in STEPS:
        started = time.perf_counter()
        with depth_limited(c.tree):
            step.run(c)
        c.times[step.name] = time.perf_counter() - started
        if verify and step.name == "typecheck":
            verify_kernel(c.kernel)
        if step.name in dump or "all" in dump:
            print(f"# {c.signature.kernel}: {step.name} ({c.times[step.name] * 1e3:.1f} ms)\n{step.show(c)}", file=sys.stderr)
        if step.name == until:
            break
    return c
