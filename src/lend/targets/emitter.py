"""The process that writes machine code for devices: run by `emission.py`, never imported by it.

Does: read modules from standard input, fork for each, and answer with what LLVM has made of it, or with what it said when it gave
up.  Does not: import lend: it is run as a program of its own, which loads llvmlite alone.
Invariants: each module is written by a process that writes nothing else: some of LLVM's code generators keep state from one to
the next, and all of them end the process over what they cannot write.

A message is a line of JSON, then as many bytes as it says.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer until there is no more to read."""
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    llvm = _llvm()

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    while True:
        line = requests.readline()
        if not line:
            return
        request = json.loads(line)
        code, said, status = emitted(request, requests.read(request["bytes"]))
        answer = {"bytes": len(code), "said": said, "status": status}
        answers.write(json.dumps(answer).encode() + b"\n" + code)
        answers.flush()


def _llvm() -> Any:
    """llvmlite, of which the helper alone uses what has no types yet."""
    return importlib.import_module("llvmlite.binding")


def emitted(request: dict[str, Any], text: bytes) -> tuple[bytes, str, int]:
    """The code, what was printed, and how the child ended: 0 if all is well."""
    code_end, errors_end = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(code_end[0])
            os.close(errors_end[0])
            os.dup2(errors_end[1], 2)
            os.dup2(errors_end[1], 1)
            code = emit(request, text.decode())
            with os.fdopen(code_end[1], "wb") as file:
                file.write(code)
            status = 0
        except BaseException as error:  # whatever it is, the parent reports it
            os.write(2, f"{error}".encode())
        finally:
            os._exit(status)
    os.close(code_end[1])
    os.close(errors_end[1])
    code, said = drained(code_end[0], errors_end[0])
    _, status = os.waitpid(child, 0)
    return (code if status == 0 else b""), said, status


def drained(code_end: int, errors_end: int) -> tuple[bytes, str]:
    """What comes out of two pipes until both are closed."""
    import selectors

    parts: dict[int, list[bytes]] = {code_end: [], errors_end: []}
    with selectors.DefaultSelector() as waiting:
        for end in parts:
            waiting.register(end, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                part = os.read(key.fd, 1 << 16)
                if part:
                    parts[key.fd].append(part)
                else:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return b"".join(parts[code_end]), b"".join(parts[errors_end]).decode(errors="replace")


def emit(request: dict[str, Any], text: str) -> bytes:
    """The module in the form that is asked for: "object", "assembly" or "llvm"."""
    llvm = _llvm()

    for option in request["options"]:
        llvm.set_option("lend", option)
    target = llvm.Target.from_triple(request["triple"])
    machine = target.create_target_machine(cpu=request["cpu"], features=request["features"], opt=request["level"])
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    module.triple = request["triple"]
    module.data_layout = str(machine.target_data)
    link(module, request["linked"], context)
    module.verify()
    optimise(module, machine, request["passes"], aggregates="= phi {" in text)
    if request["form"] == "llvm":
        names = llvm.create_new_module_pass_manager()
        names.add_instruction_namer_pass()  # numbers would have to stay in order
        names.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
        return str(module).encode()
    # Writing changes the module, and what it has become cannot be written again.
    return machine.emit_assembly(module).encode() if request["form"] == "assembly" else machine.emit_object(module)


def link(module: Any, paths: list[str], context: Any) -> None:
    """Take from libraries of bitcode what the module needs; the rest of them is dropped with what nobody calls."""
    llvm = _llvm()

    own = {function.name for function in module.functions if not function.is_declaration}
    for path in paths:
        with open(path, "rb") as file:
            library = llvm.parse_bitcode(file.read(), context)
        library.triple, library.data_layout = module.triple, module.data_layout
        module.link_in(library)
    for function in module.functions:
        if paths and not function.is_declaration and function.name not in own:
            function.linkage = "internal"


def optimise(module: Any, machine: Any, passes: str, aggregates: bool) -> None:
    """LLVM's whole pipeline ("full"); or, for code that another compiler reads, what shortens it and brings no new kinds of
    operations ("plain"); or nothing ("none")."""
    if passes == "none":
        return
    llvm = _llvm()

    options = llvm.create_pipeline_tuning_options(speed_level=3 if passes == "full" else 1)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    if passes == "full":
        builder.getModulePassManager().run(module, builder)
        return
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    if aggregates:  # by way of memory they fall into their parts
        manager.add_register_to_memory_pass()
    for _ in range(2):
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.add_new_gvn_pass()
        manager.add_dead_store_elimination_pass()
    manager.add_simplify_cfg_pass()
    manager.add_aggressive_dce_pass()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, builder)


if __name__ == "__main__":
    main()
