"""Kernels compiled for the types of a call, and what they depend on.

Does: compile a specialisation, or load one that was compiled by another process; say whether it still holds.
Does not: bind calls or launch.
Invariants: a specialisation is used only while every captured value it was compiled with is what it was; machine code lives as
long as its specialisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from lend.diagnostics.proofs import Proofs
from lend.driver import assembled, kept
from lend.driver.definition import Definition
from lend.driver.kept import KeptCode, Loops, Place, Verdicts
from lend.driver.remembered import RememberedProofs
from lend.frontend.capture import Dependency
from lend.language.moves import Move
from lend.language.signature import ArgumentType, ResultShape
from lend.language.types import ArrayType, ScalarType
from lend.runtime.launch import Executable
from lend.runtime.results import Release, leaf_types
from lend.runtime.settings import Settings

if TYPE_CHECKING:
    from lend.driver.launch_proofs import LaunchProofs
    from lend.driver.pipeline import Compilation
    from lend.targets.protocol import TargetDevice


class Specialisation:
    """A kernel compiled for the types of a call.

    launch_proofs: what is decided at each call. loops: bounds of its iterations (`plan/iterations.py`). place: where it is kept
    on disk, if it is. tested: parameters whose elements its code tests as it goes, and changes nothing if they are wrong.
    """

    def __init__(
        self,
        executable: Executable,
        dependencies: tuple[Dependency, ...],
        loops: Loops,
        compilation: Callable[[], Compilation],
        launch_proofs: RememberedProofs | None = None,
        verdicts: Verdicts | None = None,
        place: Place | None = None,
        tested: tuple[str, ...] = (),
    ) -> None:
        self.executable = executable
        self.dependencies = dependencies
        self.loops = loops
        self.launch_proofs = launch_proofs
        self.place = place
        self.tested = tested
        self._compilation = compilation
        self._verdicts = verdicts

    @cached_property
    def compilation(self) -> Compilation:
        """Its way through the pipeline, or only the start of it, if another process has compiled it."""
        return self._compilation()

    @property
    def proofs(self) -> Proofs:
        """The verdicts; what each call will be judged for is a launch condition."""
        return verdicts(self.compilation) if self._verdicts is None else self._verdicts.read()


def specialise(
    definition: Definition,
    types: tuple[ArgumentType, ...],
    typevars: dict[TypeVar, ScalarType],
    settings: Settings,
    index_arrays: Callable[[Any], None] | None,
    device: TargetDevice | None = None,
) -> Specialisation:
    """A specialisation for the processor or a device, compiled now or before. Raises CompileError."""
    disk = kept.store(settings)
    key = (
        None
        if disk is None
        else kept.code_key(definition, types, typevars, settings, None if device is None else f"{device.key} {settings.elements}")
    )
    if disk is not None and key is not None:
        found = kept.find_code(disk, key, definition, types)
        made = None if found is None else _from_kept(found, definition, types, typevars, index_arrays, device)
        if made is not None:
            return made
    started = definition.compilation(types, typevars)
    started.device, started.elements = device, settings.elements
    compilation = compiled(started, settings)
    made, code, reads = _from_compilation(compilation, definition, index_arrays)
    if disk is not None and key is not None:
        made.place = kept.save_code(disk, key, definition, types, reads, code, made.proofs)
        if made.launch_proofs is not None:
            made.launch_proofs.on_disk = made.place
    return made


def compiled(compilation: Compilation, settings: Settings) -> Compilation:
    """A compilation, after all steps."""
    from lend.driver.pipeline import run

    return run(compilation, dump=settings.dump, verify=settings.verify)


def _from_compilation(
    compilation: Compilation, definition: Definition, index_arrays: Callable[[Any], None] | None
) -> tuple[Specialisation, KeptCode, Sequence[Dependency]]:
    from lend.plan.iterations import iteration_bounds

    kernel, scheduled, module, checked = compilation.kernel, compilation.scheduled, compilation.module, compilation.checked
    assert checked is not None and scheduled is not None and module is not None
    found = compilation.launch_proofs
    code = KeptCode(
        module.object_code(),
        checked.dependencies,
        tuple(parameter.value.type for parameter in kernel.parameters),
        len(kernel.dims),
        kernel.result,
        scheduled.sites,
        iteration_bounds(kernel),
        None,
        None if found is None else tuple(found.places),
        moves=_moves(compilation),
        tested=_tested(compilation),
    )
    executable = _executable(code, definition, module, index_arrays)
    open_proofs = None if found is None else RememberedProofs(found.places, lambda: found)
    made = Specialisation(executable, code.dependencies, code.loops, lambda: compilation, open_proofs, tested=code.tested)
    return made, code, checked.reads


def _moves(compilation: Compilation) -> tuple[Move | None, ...]:
    """What the device needs of the arrays that are lent for writing."""
    if compilation.device is None or compilation.launch_proofs is not None:
        return ()
    from lend.checks.moves import moves_of

    assert compilation.judgement is not None
    return moves_of(compilation.judgement)


def _tested(compilation: Compilation) -> tuple[str, ...]:
    """The names of the index arrays that the code tests as it goes."""
    if compilation.device is not None or compilation.plan is None:
        return ()
    arrays = compilation.plan.tested
    return tuple(parameter.name for parameter in compilation.kernel.parameters if parameter.value in arrays)


def _from_kept(
    code: KeptCode,
    definition: Definition,
    types: tuple[ArgumentType, ...],
    typevars: dict[TypeVar, ScalarType],
    index_arrays: Callable[[Any], None] | None,
    device: TargetDevice | None,
) -> Specialisation | None:
    module = assembled.load(code.object_code) if device is None else device.load(code.object_code)
    if module is None:
        return None
    executable = _executable(code, definition, module, index_arrays)

    def start() -> Compilation:
        compilation = definition.compilation(types, typevars)
        compilation.device = device
        return compilation

    open_proofs = None
    if code.open_values is not None:
        open_proofs = RememberedProofs(code.open_values, lambda: _judged(start()), code.place)
    return Specialisation(executable, code.dependencies, code.loops, start, open_proofs, code.verdicts, code.place, code.tested)


def _judged(compilation: Compilation) -> LaunchProofs:
    """The open proofs of a kernel that is known to have some."""
    from lend.driver.pipeline import run

    run(compilation, until="check")
    assert compilation.launch_proofs is not None
    return compilation.launch_proofs


def _executable(code: KeptCode, definition: Definition, module: Any, index_arrays: Callable[[Any], None] | None) -> Executable:
    return Executable(
        definition.captured.name,
        module.address("kernel"),
        code.dims,
        code.leaves,
        code.result,
        code.sites,
        definition.contracts,
        module,
        index_arrays,
        _release(code.result),
        code.moves,
    )


def _release(result: ResultShape | None) -> Release | None:
    """What frees the arrays that a kernel returns."""
    if not any(isinstance(type, ArrayType) for type in leaf_types(result)):
        return None
    from lend.targets.cpu.memory import memory

    return memory().release


def verdicts(compilation: Compilation) -> Proofs:
    """The verdicts of a compilation; what each call will be judged for is a launch condition."""
    if compilation.judgement is None:
        from lend.driver.pipeline import run

        run(compilation, until="check")
    assert compilation.judgement is not None
    open_proofs, proofs = compilation.launch_proofs, compilation.judgement.proofs
    if open_proofs is None:
        return proofs
    names = ", ".join(value.name or "a size" for value in open_proofs.values)
    later = {"verdict": "launch", "condition": f"decided for each value of {names}"}
    return Proofs((replace(p, **later) if p.verdict == "unproved" else p for p in proofs), proofs.unchecked)


def current(dependencies: tuple[Dependency, ...]) -> bool:
    """Whether every captured value is still what it was."""
    return all(unchanged(dependency.read(), dependency.value) for dependency in dependencies)


def unchanged(now: Any, then: Any) -> bool:
    """Whether a captured value is what it was: the same object, or an equal number, string or tuple of them."""
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if isinstance(now, tuple):
        return len(now) == len(then) and all(map(unchanged, now, then))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(now, int | str | bytes):
        return bool(now == then)
    if isinstance(now, float | complex) or type(now).__module__ == "numpy":
        return repr(now) == repr(then)  # 0.0 is not -0.0, NaN is NaN
    return False
