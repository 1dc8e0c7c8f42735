"""LLVM IR text -> machine code in this process.

Does: verify, optimise, generate and load the code of one module; keep what `.llvm` and `.asm` need.  Does not: run it.
Invariants: code is loaded only if every symbol it needs is known: an unknown one would load cleanly and crash when called. The
code stays in memory as long as its `CompiledModule`; whoever calls into it holds that.

Example: `compile_module(text).address("kernel")` is the address of `i32 kernel(ptr, ptr, ptr)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from time import thread_time

import llvmlite.binding as llvm

from lend.diagnostics.errors import InternalError
from lend.lower.module import OWN_VECTORS
from lend.targets.cpu import fences, loader, vector_library
from lend.targets.cpu.exclusive import COMPILING, hold_across_forks
from lend.targets.cpu.exclusive import compile_exclusively as compile_exclusively
from lend.targets.cpu.libraries import load_libraries
from lend.targets.cpu.machine import Machine, host, target_machine
from lend.targets.cpu.object_file import read_symbols


def _llvmlite_lock() -> AbstractContextManager[object]:
    """llvmlite's own lock: objects are freed outside compilations, whenever their last reference goes."""
    return getattr(llvm.ffi.lib, "_lock", None) or nullcontext()


hold_across_forks(_llvmlite_lock)


class CompiledModule:
    """Machine code, loaded. `address` gives the entry points; `.llvm` and `.asm` are made when asked for."""

    def __init__(
        self,
        machine: Machine,
        object_code: bytes,
        bitcode: bytes | None,
        symbols: Mapping[str, int],
        times: Mapping[str, float] | None = None,
    ) -> None:
        self.machine = machine
        self.bitcode = bitcode
        self._object_code = object_code
        self.times = dict(times or {})
        """Seconds of processor time by part of the work that made it."""
        started = thread_time()
        table = read_symbols(object_code)
        self._defined = table.defined
        self._loaded = loader.load(object_code, dict(symbols)) if machine.is_host_architecture else None
        if self._loaded is None:
            with COMPILING:
                _resolve(table.undefined, symbols)
                self._engine = _load(machine, object_code)
        self.times["load"] = thread_time() - started

    def address(self, name: str) -> int:
        """The address of a function that the module defines."""
        if name not in self._defined:
            raise InternalError(f"the compiled module has no function {name}")
        return self._engine.get_function_address(name) if self._loaded is None else self._loaded.address(name)

    def data_address(self, name: str) -> int:
        """The address of a variable that the module defines."""
        if name not in self._defined:
            raise InternalError(f"the compiled module has no variable {name}")
        return self._engine.get_global_value_address(name) if self._loaded is None else self._loaded.data_address(name)

    def object_code(self) -> bytes:
        """The object file, for `load_object` and `loader.load`."""
        return self._object_code

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR."""
        with COMPILING:
            return str(self._module())

    @property
    def asm(self) -> str:
        """The assembly text."""
        return assembly(self._bitcode(), self.machine)

    def _bitcode(self) -> bytes:
        if self.bitcode is None:
            raise InternalError("this code was loaded without its bitcode")
        return self.bitcode

    def _module(self) -> llvm.ModuleRef:
        return llvm.parse_bitcode(self._bitcode(), llvm.create_context())


def compile_module(
    ir: str,
    *,
    machine: Machine | None = None,
    symbols: Mapping[str, int] | None = None,
    quick: bool = False,
    level: int | None = None,
) -> CompiledModule:
    """Compile and load `ir`. `symbols` are addresses of functions that are not in any loaded library.

    `quick` skips the optimiser, for code that was written by hand and is not in inner loops: a third of the time. `level` is that
    of the code generator, if another than 3, or 1 where it is to be quick.
    """
    machine = machine or host()
    times: dict[str, float] = {}
    bitcode = optimise(ir, machine, passes=not quick, times=times)
    started = thread_time()
    object_code = _object_code(bitcode, machine, level=(1 if quick else 3) if level is None else level)
    times["generate"] = thread_time() - started
    return CompiledModule(machine, object_code, bitcode, symbols or {}, times)


def load_object(
    object_code: bytes, *, machine: Machine | None = None, symbols: Mapping[str, int] | None = None, bitcode: bytes | None = None
) -> CompiledModule:
    """Load what `object_code()` of the same machine gave; with the `bitcode` that was stored beside it, texts can be made too."""
    return CompiledModule(machine or host(), object_code, bitcode, symbols or {})


def optimise(ir: str, machine: Machine, passes: bool = True, times: dict[str, float] | None = None) -> bytes:
    """The bitcode of `ir` after LLVM's full pipeline for `machine` (or, without `passes`, as it is). Times go into `times`."""
    times = {} if times is None else times
    started = thread_time()
    with COMPILING:
        try:
            module = llvm.parse_assembly(vector_library.attach(fences.attach(ir, machine), machine), llvm.create_context())
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"LLVM refuses the module that lend wrote: {error}") from error
        code_generator = target_machine(machine)
        module.triple = machine.triple
        module.data_layout = str(code_generator.target_data)
        times["parse_ir"] = thread_time() - started
        if not passes:
            return module.as_bitcode()
        # What is written in vectors needs no search for more, nor passes for scalar code, which take a third of the time.
        written = OWN_VECTORS in ir
        options = llvm.create_pipeline_tuning_options(speed_level=1 if written else 3)
        options.loop_vectorization = not written
        options.slp_vectorization = not written
        options.loop_interleaving = True
        options.loop_unrolling = True
        builder = llvm.create_pass_builder(code_generator, options)
        builder.getModulePassManager().run(module, builder)
        bitcode = module.as_bitcode()
        times["optimise"] = thread_time() - started - times["parse_ir"]
        return bitcode


def assembly(bitcode: bytes, machine: Machine) -> str:
    """The assembly text of optimised bitcode."""
    with COMPILING:  # emission changes the module, so it gets its own copy
        module = llvm.parse_bitcode(bitcode, llvm.create_context())
        return target_machine(machine).emit_assembly(module)


def _object_code(bitcode: bytes, machine: Machine, level: int) -> bytes:
    with COMPILING:
        module = llvm.parse_bitcode(bitcode, llvm.create_context())
        return target_machine(machine, level).emit_object(module)


def _resolve(undefined: frozenset[str], symbols: Mapping[str, int]) -> None:
    """Make every needed symbol known to LLVM's loader, or say which is not."""
    load_libraries()
    missing: list[str] = []
    for name in sorted(undefined):
        known = llvm.address_of_symbol(name)
        if name in symbols:
            if known is None:
                llvm.add_symbol(name, symbols[name])
            elif known != symbols[name]:
                raise InternalError(f"the symbol {name} has two addresses")
        elif not known:
            missing.append(name)
    if missing:
        raise InternalError(f"compiled code needs symbols that nothing defines: {', '.join(missing)}")


def _load(machine: Machine, object_code: bytes) -> llvm.ExecutionEngine:
    """An engine of its own for one object file."""
    # An engine wants a module; its context must outlive the engine, which only the global one is sure to do.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{machine.triple}"\n'), target_machine(machine))
    engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
    engine.finalize_object()
    return engine
