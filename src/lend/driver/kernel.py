"""The kernel object: what `@lend.kernel` makes of a function.

Does: bind each call, find or compile its specialisation, launch it; run it as plain Python; show its code.
Does not: any step of the compiler.
Invariants: a specialisation is used only while every captured value it was compiled with is what it was; compiling one kernel
never touches another; machine code lives as long as its kernel.

Example:
    @lend.kernel
    def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
        for i in lend.grid(N):
            y[i] += a * x[i]
    saxpy(2.0, x, y)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, get_args, overload

from lend.diagnostics.errors import CompileError, LendError
from lend.diagnostics.proofs import Proofs
from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.driver import assembled, listening, native
from lend.driver.definition import define
from lend.driver.index_arrays import index_arrays
from lend.driver.specialisation import Specialisation, compiled, current, specialise, verdicts
from lend.frontend.capture import Captured, Dependency
from lend.language.signature import ArgumentType, Contract, Signature
from lend.language.types import MathMode, ScalarType
from lend.runtime import profile, vectorcall
from lend.runtime.arguments import Binder, Binding
from lend.runtime.arrays import has_array
from lend.runtime.faults import Fault, fault_error
from lend.runtime.launch import check_contracts, launch
from lend.runtime.results import assemble
from lend.runtime.settings import HERE, Settings, config, device_name, snapshot
from lend.targets.cpu.exclusive import COMPILING

# A kernel that another process has compiled runs without the compiler; what needs it loads it.
if TYPE_CHECKING:
    from lend.checks.require import Require
    from lend.diagnostics.explanation import Explanation
    from lend.driver.lowered import Lowered
    from lend.driver.on_device import DeviceSpecialisations, OnDevice
    from lend.driver.pipeline import Compilation
    from lend.ir import syntax
    from lend.targets.protocol import TargetDevice

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Plain:
    """A kernel as a Python function for the types of a call."""

    function: Callable[..., tuple[Any, ...]]
    dependencies: tuple[Dependency, ...]
    compilation: Compilation


class Kernel(vectorcall.Callable, Generic[P, R]):
    """A compiled function over borrowed arrays. Call it like the function it is made from.

    Raises ArgumentError, ShapeError, BorrowError or ContractError before anything runs; CompileError if these types cannot be
    compiled; BoundsError or ArithmeticFault if an access or a division failed.
    """

    __lend_kernel__ = True

    def __init__(self, python: Callable[P, R], math: MathMode = "default", require: Require | None = None) -> None:
        if math not in get_args(MathMode):
            raise ValueError(f'math is "fast", "default" or "strict", not {math!r}')
        if require not in (None, "proved"):
            raise ValueError(f'require is "proved" or None, not {require!r}')
        self.__name__: str = getattr(python, "__name__", "kernel")  # before anything can fail: tracebacks print kernels
        self.__qualname__: str = getattr(python, "__qualname__", self.__name__)
        self.__module__ = getattr(python, "__module__", "")
        self.__doc__ = python.__doc__
        self.__wrapped__ = python
        assembled.keep_texts()
        try:
            with COMPILING:
                self._definition = define(python, math, require)
        except LendError as error:  # the user's mistake: Python need not show the way through the compiler
            raise error.with_traceback(None) from None
        self._binder = Binder(self._definition.signature)
        self._index_arrays = index_arrays(self._definition.signature, self._definition.span)
        self._native = native.NativePath(self._definition)
        self._specialisations: dict[Any, list[Specialisation]] = {}
        self._plain: dict[Any, list[Plain]] = {}
        self._on_devices: DeviceSpecialisations | None = None
        self._made = 0  # specialisations
        self._there: dict[str, OnDevice[P, R]] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if profile.active is not None:
                return self._profiled(profile.active, args, kwargs)
            version, settings = config.version, snapshot()
            if has_array(args, kwargs) or settings.device not in HERE:
                return self._elsewhere(settings.device, args, kwargs)
            binding = self._binder.bind(args, kwargs)
            result: Any = self._here(binding, version, settings)
            return result
        except LendError as error:
            raise error.with_traceback(None) from None

    def _here(self, binding: Binding, version: int, settings: Settings) -> Any:
        """Run a bound call on the processor."""
        _use_threads(settings.threads)
        specialisation = self._specialise(binding, settings)
        direct = settings.device in HERE and profile.active is None
        if direct:
            native.apply(settings, version)
        open_proofs = specialisation.launch_proofs
        if open_proofs is not None:
            check_contracts(self.__name__, self._definition.contracts, binding)
            open_proofs.require(binding)
        elif settings.native and direct:
            self._native.used(self, specialisation, binding)
        return launch(specialisation.executable, binding)

    def py(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel as plain Python at your own lines, so that breakpoints work. Same semantics, same errors, slow."""
        binding = self._binder.bind(args, kwargs)
        plain = self._plain_for(binding)
        check_contracts(self.__name__, self._definition.contracts, binding)
        if self._index_arrays is not None:
            self._index_arrays(binding)
        if plain.compilation.launch_proofs is not None:
            plain.compilation.launch_proofs.require(binding)
        kernel = plain.compilation.kernel

        def fault(site: Site, dimension: int, index: int, size: int, indices: tuple[int, ...] | None) -> NoReturn:
            raise fault_error(self.__name__, Fault(site, indices, dimension, index, size))

        values = plain.function(binding.dims, binding.leaves, fault)
        result: Any = None if kernel.result is None else assemble(kernel.result, values)
        return result

    def lower(self, *args: Any, target: str = "cpu", **kwargs: Any) -> Lowered:
        """The code for the types of these arguments: `.typed`, `.llvm`, `.asm`, `.times`, `.resources`. Nothing runs.

        An argument may be a type: `lower(f32, f32, f32)`; an array given by its element type counts as row-major.
        `target`: `cpu`, `opencl`, `cuda:sm_90`, `hip:gfx942`, …, whether or not such a device is here.
        Without arguments: for the signature's types, arrays row-major; TypeError where a type or a compile-time value is open.
        """
        if target != "cpu":
            from lend.driver.inspected import inspect

            return inspect(self._lowered_types(args, kwargs), target)
        open_call = not args and not kwargs and bool(self._definition.signature.parameters)
        if open_call or self._given(args, kwargs) is not None:
            return _lowered(compiled(self._lowered_types(args, kwargs), snapshot()))
        compilation = self._specialise(self._binder.bind(args, kwargs), snapshot()).compilation
        return _lowered(compilation if compilation.module is not None else compiled(compilation, snapshot()))

    def _lowered_types(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation:
        """The start of a compilation for the types of arguments, or of the signature."""
        given = self._given(args, kwargs)
        if given is not None:
            return self._definition.compilation(*given)
        if args or kwargs or not self._definition.signature.parameters:
            binding = self._binder.bind(args, kwargs)
            return self._definition.compilation(binding.types, dict(binding.typevars))
        known = self._definition.known_types()
        if known is None:
            raise TypeError(f"{self.__name__}.lower needs arguments: a compile-time value or the length of a tuple is open")
        return self._definition.compilation(*known)

    def _given(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[ArgumentType, ...], dict[TypeVar, ScalarType]] | None:
        """The types that arguments mean some of which are types; None if none is."""
        if not args and not kwargs:
            return None
        from lend.driver.given_types import given_types

        return given_types(self._definition.signature, self._binder.in_order(args, kwargs))

    def proofs(self, *args: Any, **kwargs: Any) -> Proofs:
        """The verdict of every obligation, for the types of these arguments (or, without any, of the signature). Nothing runs.

        An argument may be a type, as for `lower`; what sizes and values decide then is left open.
        A kernel that is refused for these types has verdicts too; CompileError if its types are wrong.
        """
        given = self._given(args, kwargs)
        binding = self._binder.bind(args, kwargs) if given is None and (args or kwargs) else None
        if given is not None:
            known: Any = given
        elif binding is not None:
            known = (binding.types, dict(binding.typevars))
        else:
            known = self._definition.known_types()
            if known is None:
                raise TypeError(f"{self.__name__}.proofs needs arguments: a compile-time value or the length of a tuple is open")
            kept = self._definition.verdicts
            if kept is not None and current(kept.dependencies):
                return kept.read()
        from lend.driver.pipeline import run

        compilation = self._definition.compilation(*known)
        try:
            run(compilation, until="check")
        except CompileError:
            if compilation.judgement is None:
                raise
        if binding is not None and compilation.launch_proofs is not None:
            return compilation.launch_proofs.judgement(binding).proofs
        return verdicts(compilation)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """How the loops of this call run, and why: vectors, memory, threads, what would make them faster. Nothing runs.

        Without arguments, or with types for them: what holds for all sizes of these types, arrays row-major; TypeError where a
        type or a compile-time value is open. CompileError if the kernel is refused.
        """
        given = self._given(args, kwargs)
        call = given is None and bool(args or kwargs or not self._definition.signature.parameters)
        binding = self._binder.bind(args, kwargs) if call else None
        known: Any = given if binding is None else (binding.types, dict(binding.typevars))
        if known is None:
            known = self._definition.known_types()
        if known is None:
            raise TypeError(f"{self.__name__}.explain needs arguments: a compile-time value or the length of a tuple is open")
        from lend.driver.explained import explain

        return explain(self._definition.compilation(*known), binding)

    def judged(self) -> Iterator[tuple[dict[str, str], Proofs]]:
        """The verdicts for the signature's types, if they are known, and for each call so far, with what is special about it.

        Raises CompileError if the kernel was found wrong only now, for names that were defined after it.
        """
        known = self._definition.known_types()
        if known is not None:
            yield self._definition.compilation(*known).choices(), self.proofs()
        for specialisation in [found for group in self._specialisations.values() for found in group]:
            if known is None or specialisation.compilation.types != known[0]:
                yield specialisation.compilation.choices(), specialisation.proofs

    def compilations(self) -> Iterator[Compilation]:
        """Each specialisation so far, at the start of the pipeline; without calls, that of the signature's types if known."""
        made = [found.compilation for group in self._specialisations.values() for found in group]
        known = self._definition.known_types()
        if not made and known is not None:
            yield self._definition.compilation(*known)
        yield from (compilation.fresh() for compilation in made)

    def on(self, device: str) -> Kernel[P, R] | OnDevice[P, R]:
        """This kernel on a device: "cpu", "opencl:0", … (`lend.devices()` lists them). Raises DeviceError for what is none."""
        if device == "auto" or (device in HERE and snapshot().device in HERE):
            return self
        kind, number = device_name(device)
        name = kind if kind == "cpu" else f"{kind}:{number}"
        there = self._there.get(name)
        if there is None:
            from lend.driver.on_device import OnDevice

            there = self._there.setdefault(name, OnDevice(self, name, native.NativePath(self._definition)))
        return there

    def _profiled(self, notes: profile.Profile, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose times are noted."""
        from lend.driver.profiled import profiled

        return profiled(self, notes, args, kwargs, None)

    def prepare(self, binding: Binding, device: TargetDevice | None) -> bool:
        """Make the specialisation of a call; whether there was none yet."""
        before = self._made
        if device is None:
            self._specialise(binding, snapshot())
        else:
            self.specialised_for(device, binding, snapshot())
        return self._made != before

    def _elsewhere(self, device: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call on the device where its arrays live, or else on `device`."""
        from lend.driver.on_device import call_on, on_devices  # what most programs do without

        places, others, found = on_devices(args, kwargs)
        if found is None and device in HERE:  # another library's array, and not on a device
            return self.call_here(self._binder.bind(places, others))
        if found is None:
            return self.on(device)(*args, **kwargs)
        return call_on(self, found, self._binder.bind(places, others), self, self._native)

    def call_here(self, binding: Binding) -> Any:
        """Run a bound call on the processor, wherever calls run otherwise."""
        return self._here(binding, config.version, snapshot())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Binding:
        """A call's arguments, admitted; for `on_device.py`."""
        return self._binder.bind(args, kwargs)

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """The kernel's contracts."""
        return self._definition.contracts

    def specialised_for(self, device: TargetDevice, binding: Binding, settings: Settings) -> Specialisation:
        """The specialisation of a call on a device."""
        with COMPILING:
            from lend.driver.on_device import DeviceSpecialisations

            if self._on_devices is None:
                self._on_devices = DeviceSpecialisations()

            def make(types: Any) -> Specialisation:
                self._made += 1
                return specialise(self._definition, types, dict(binding.typevars), settings, self._index_arrays, device)

            return self._on_devices.find(device, binding, settings.elements, make)

    def content_key(self) -> bytes | None:
        """What tells this kernel from others in every process, for the keys of kernels that call it; None if nothing does."""
        return self._definition.key

    def front_end(self) -> tuple[syntax.Function, Captured, Signature]:
        """The tree, the captured function and the signature, for kernels that call this one."""
        return self._definition.tree, self._definition.captured, self._definition.signature

    def __repr__(self) -> str:
        return f"<lend.kernel {self.__qualname__}>"

    def __get__(self, instance: object, owner: type | None = None) -> Kernel[P, R]:
        """In a class, too, a kernel is what it is. This makes it a routine to Python, so that `help` shows its signature."""
        return self

    def __reduce__(self) -> str:
        return self.__qualname__

    # ------------------------------------------------------------------------------------------------------ specialisations

    def _specialise(self, binding: Binding, settings: Settings) -> Specialisation:
        for found in self._specialisations.get(binding.types, ()):
            if current(found.dependencies):
                return found
        with COMPILING:
            for found in self._specialisations.get(binding.types, ()):
                if current(found.dependencies):
                    return found
            made = specialise(self._definition, binding.types, dict(binding.typevars), settings, self._index_arrays)
            self._specialisations.setdefault(binding.types, []).append(made)
            self._made += 1
            return made

    def _plain_for(self, binding: Binding) -> Plain:
        for found in self._plain.get(binding.types, ()):
            if current(found.dependencies):
                return found
        with COMPILING:
            from lend.driver.pipeline import depth_limited, run
            from lend.lower.plain_python import plain_function  # what compiled kernels do without

            compilation = self._definition.compilation(binding.types, dict(binding.typevars))
            run(compilation, until="check")
            assert compilation.checked is not None
            with depth_limited(compilation.tree):
                function = plain_function(compilation.kernel, self._definition.captured.source)
            made = Plain(function, compilation.checked.dependencies, compilation)
            self._plain.setdefault(binding.types, []).append(made)
            return made


vectorcall.enable(Kernel)


def _lowered(compilation: Compilation) -> Lowered:
    from lend.driver.lowered import Lowered

    return Lowered(compilation)


_threads = 0


def _use_threads(threads: int) -> None:
    """Tell the thread pool how many threads to use, when that has changed."""
    global _threads
    if threads != _threads:
        with COMPILING:
            from lend.targets.cpu.threads import pool  # which only kernels that run need

            pool().configure(threads)
        _threads = threads


@overload
def kernel(python: Callable[P, R], /) -> Kernel[P, R]: ...
@overload
def kernel(*, math: MathMode = "default", require: Require | None = None) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    python: Callable[..., Any] | None = None, /, *, math: MathMode = "default", require: Require | None = None
) -> Kernel[..., Any] | Callable[[Callable[..., Any]], Kernel[..., Any]]:
    """Make a kernel of a function whose parameters are annotated with lend's types.

    math: "strict" rounds every operation as written; "default" may fuse a multiplication with an addition and use vector
    functions within 3 ulp; "fast" may also reassociate. require: "proved" refuses a kernel in which an access or a division keeps
    a test at run time. Raises CompileError, with every error found, for a function that is not a kernel.
    """

    def decorate(python: Callable[P, R]) -> Kernel[P, R]:
        listener = listening.current()
        if listener is None:
            return Kernel(python, math, require)
        return listener(python, lambda: Kernel(python, math, require))

    return decorate if python is None else decorate(python)
