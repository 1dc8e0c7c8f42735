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

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, get_args, overload

from lend.diagnostics.errors import CompileError, DeviceError, LendError
from lend.diagnostics.proofs import Proofs
from lend.diagnostics.sites import Site
from lend.driver import listening, native
from lend.driver.definition import define
from lend.driver.index_arrays import index_arrays
from lend.driver.pipeline import Compilation, depth_limited, run
from lend.frontend.capture import Captured, Dependency
from lend.ir import syntax
from lend.ir.print import print_kernel
from lend.language.signature import ArgumentType, ResultShape, Signature
from lend.language.types import ArrayType, MathMode, ScalarType
from lend.runtime import vectorcall
from lend.runtime.arguments import Binder, Binding
from lend.runtime.faults import Fault, fault_error
from lend.runtime.launch import Executable, check_contracts, launch
from lend.runtime.results import Release, assemble, leaf_types
from lend.runtime.settings import DEVICES, Settings, config, snapshot

if TYPE_CHECKING:
    from lend.checks.require import Require

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Specialisation:
    """A kernel compiled for the types of a call."""

    executable: Executable
    dependencies: tuple[Dependency, ...]
    compilation: Compilation


@dataclass(frozen=True, eq=False)
class Plain:
    """A kernel as a Python function for the types of a call."""

    function: Callable[..., tuple[Any, ...]]
    dependencies: tuple[Dependency, ...]
    compilation: Compilation


class Lowered:
    """What a specialisation was compiled to. `times`: seconds by pipeline step."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self.times = dict(compilation.times)

    @property
    def typed(self) -> str:
        """The typed tree, printed."""
        return print_kernel(self._compilation.kernel)

    @property
    def plan(self) -> str:
        """The host pass and the device regions, printed."""
        return str(self._compilation.plan)

    @property
    def ir(self) -> str:
        """The LLVM IR before optimisation."""
        return self._compilation.ir or ""

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR."""
        assert self._compilation.module is not None
        return self._compilation.module.llvm

    @property
    def asm(self) -> str:
        """The assembly."""
        assert self._compilation.module is not None
        return self._compilation.module.asm

    def __repr__(self) -> str:
        steps = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.times.items())
        return f"<lowered {self._compilation.signature.kernel}: {steps}>"


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
        try:
            self._definition = define(python, math, require)
        except LendError as error:  # the user's mistake: Python need not show the way through the compiler
            raise error.with_traceback(None) from None
        self._binder = Binder(self._definition.signature)
        self._index_arrays = index_arrays(self._definition.signature, self._definition.tree.span)
        self._native = native.NativePath(self._definition)
        self._specialisations: dict[Any, list[Specialisation]] = {}
        self._plain: dict[Any, list[Plain]] = {}
        self._lock = threading.RLock()
        self.__name__ = python.__name__
        self.__qualname__ = python.__qualname__
        self.__module__ = python.__module__
        self.__doc__ = python.__doc__
        self.__wrapped__ = python

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            binding = self._binder.bind(args, kwargs)
            version, settings = config.version, snapshot()
            specialisation = self._specialise(binding, settings)
            _use_threads(settings.threads)
            native.apply(settings, version)
            open_proofs = specialisation.compilation.launch_proofs
            if open_proofs is not None:
                check_contracts(self.__name__, self._definition.contracts, binding)
                open_proofs.require(binding)
            elif settings.native:
                self._native.used(self, specialisation, binding)
            return launch(specialisation.executable, binding)
        except LendError as error:
            raise error.with_traceback(None) from None

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

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The code for the types of these arguments: `.typed`, `.llvm`, `.asm`, `.times`. Nothing runs.

        Without arguments: for the signature's types, arrays row-major; TypeError where a type or a compile-time value is open.
        """
        if not args and not kwargs and self._definition.signature.parameters:
            known = self._definition.known_types()
            if known is None:
                raise TypeError(f"{self.__name__}.lower needs arguments: a compile-time value or the length of a tuple is open")
            return Lowered(self._compile(*known, snapshot()).compilation)
        return Lowered(self._specialise(self._binder.bind(args, kwargs), snapshot()).compilation)

    def proofs(self, *args: Any, **kwargs: Any) -> Proofs:
        """The verdict of every obligation, for the types of these arguments (or, without any, of the signature). Nothing runs.

        A kernel that is refused for these types has verdicts too; CompileError if its types are wrong.
        """
        binding = self._binder.bind(args, kwargs) if args or kwargs else None
        if binding is not None:
            known: Any = (binding.types, dict(binding.typevars))
        else:
            known = self._definition.known_types()
            if known is None:
                raise TypeError(f"{self.__name__}.proofs needs arguments: a compile-time value or the length of a tuple is open")
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

    def judged(self) -> Iterator[tuple[dict[str, str], Proofs]]:
        """The verdicts for the signature's types, if they are known, and for each call so far, with what is special about it.

        Raises CompileError if the kernel was found wrong only now, for names that were defined after it.
        """
        known = self._definition.known_types()
        if known is not None:
            yield self._definition.compilation(*known).choices(), self.proofs()
        for specialisation in [found for group in self._specialisations.values() for found in group]:
            if known is None or specialisation.compilation.types != known[0]:
                yield specialisation.compilation.choices(), verdicts(specialisation.compilation)

    def compilations(self) -> Iterator[Compilation]:
        """Each specialisation so far, at the start of the pipeline; without calls, that of the signature's types if known."""
        made = [found.compilation for group in self._specialisations.values() for found in group]
        known = self._definition.known_types()
        if not made and known is not None:
            yield self._definition.compilation(*known)
        yield from (compilation.fresh() for compilation in made)

    def on(self, device: str) -> Kernel[P, R]:
        """This kernel on a device: "cpu" or "auto". Raises DeviceError for any other."""
        if device not in (*DEVICES, "auto"):
            raise DeviceError(f"there is no device {device!r}; there are: {', '.join(DEVICES)}")
        return self

    def front_end(self) -> tuple[syntax.Function, Captured, Signature]:
        """The tree, the captured function and the signature, for kernels that call this one."""
        return self._definition.tree, self._definition.captured, self._definition.signature

    def __repr__(self) -> str:
        return f"<lend.kernel {self.__qualname__}>"

    def __reduce__(self) -> str:
        return self.__qualname__

    # ------------------------------------------------------------------------------------------------------ specialisations

    def _specialise(self, binding: Binding, settings: Settings) -> Specialisation:
        for found in self._specialisations.get(binding.types, ()):
            if current(found):
                return found
        with self._lock:
            for found in self._specialisations.get(binding.types, ()):
                if current(found):
                    return found
            made = self._compile(binding.types, dict(binding.typevars), settings)
            self._specialisations.setdefault(binding.types, []).append(made)
            return made

    def _compile(
        self, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType], settings: Settings
    ) -> Specialisation:
        compilation = self._definition.compilation(types, typevars)
        run(compilation, dump=settings.dump, verify=settings.verify)
        kernel, scheduled, module = compilation.kernel, compilation.scheduled, compilation.module
        assert compilation.checked is not None and scheduled is not None and module is not None
        executable = Executable(
            self.__name__,
            module.address("kernel"),
            len(kernel.dims),
            tuple(parameter.value.type for parameter in kernel.parameters),
            kernel.result,
            scheduled.sites,
            self._definition.contracts,
            module,
            self._index_arrays,
            _release(kernel.result),
        )
        return Specialisation(executable, compilation.checked.dependencies, compilation)

    def _plain_for(self, binding: Binding) -> Plain:
        for found in self._plain.get(binding.types, ()):
            if current(found):
                return found
        from lend.lower.plain_python import plain_function  # what compiled kernels do without

        with self._lock:
            compilation = self._definition.compilation(binding.types, dict(binding.typevars))
            run(compilation, until="check")
            assert compilation.checked is not None
            with depth_limited(compilation.tree):
                function = plain_function(compilation.kernel, self._definition.captured.source)
            made = Plain(function, compilation.checked.dependencies, compilation)
            self._plain.setdefault(binding.types, []).append(made)
            return made


vectorcall.enable(Kernel)


def _release(result: ResultShape | None) -> Release | None:
    """What frees the arrays that a kernel returns."""
    if not any(isinstance(type, ArrayType) for type in leaf_types(result)):
        return None
    from lend.targets.cpu.memory import memory

    return memory().release


def verdicts(compilation: Compilation) -> Proofs:
    """The verdicts of a compilation; what each call will be judged for is a launch condition."""
    assert compilation.judgement is not None
    open_proofs, proofs = compilation.launch_proofs, compilation.judgement.proofs
    if open_proofs is None:
        return proofs
    names = ", ".join(value.name or "a size" for value in open_proofs.values)
    later = {"verdict": "launch", "condition": f"decided for each value of {names}"}
    return Proofs((replace(p, **later) if p.verdict == "unproved" else p for p in proofs), proofs.unchecked)


def current(found: Specialisation | Plain) -> bool:
    """Whether every captured value is still what it was."""
    return all(unchanged(dependency.read(), dependency.value) for dependency in found.dependencies)


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


_threads = 0


def _use_threads(threads: int) -> None:
    """Tell the thread pool how many threads to use, when that has changed."""
    global _threads
    if threads != _threads:
        from lend.targets.cpu.threads import pool  # loads LLVM, which only kernels that run need

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
