"""Compiling and loading a module: symbols, texts, stored objects, several threads, a fork."""

from __future__ import annotations

import ctypes
import gc
import os
import threading

import pytest

from lend.diagnostics.errors import InternalError
from lend.targets.cpu import loader
from lend.targets.cpu.emit import compile_module, load_object
from lend.targets.cpu.machine import host, named
from lend.targets.cpu.object_file import read_symbols
from lend.targets.cpu.target import cpu

ADD = "define i64 @add(i64 %a, i64 %b) {\n  %r = add i64 %a, %b\n  ret i64 %r\n}\n"
POWER = """
declare double @pow(double, double)
define double @power(double %a, double %b) {
  %r = call double @pow(double %a, double %b)
  ret double %r
}
"""


def call(address: int, result: type, *arguments: tuple[type, object]) -> object:
    return ctypes.CFUNCTYPE(result, *(t for t, _ in arguments))(address)(*(v for _, v in arguments))


def test_a_function_is_compiled_and_runs() -> None:
    module = compile_module(ADD)
    assert call(module.address("add"), ctypes.c_int64, (ctypes.c_int64, 40), (ctypes.c_int64, 2)) == 42


def test_the_texts_are_those_of_the_optimised_code() -> None:
    module = compile_module(ADD)
    assert "add i64" in module.llvm
    assert "add:" in module.asm
    assert module.asm == module.asm  # made twice from the same bitcode


def test_functions_of_the_mathematical_library_are_found() -> None:
    module = compile_module(POWER)
    assert call(module.address("power"), ctypes.c_double, (ctypes.c_double, 2.0), (ctypes.c_double, 10.0)) == 1024.0


def test_a_symbol_that_nothing_defines_is_named_before_anything_runs() -> None:
    text = (
        "declare void @no_such_function_anywhere()\ndefine void @f() {\n  call void @no_such_function_anywhere()\n  ret void\n}\n"
    )
    with pytest.raises(InternalError, match="no_such_function_anywhere"):
        compile_module(text)


def test_a_library_call_that_the_code_generator_invents_is_checked_too() -> None:
    text = "define void @f(ptr %p, i128 %a, i128 %b) {\n  %q = sdiv i128 %a, %b\n  store i128 %q, ptr %p\n  ret void\n}\n"
    try:
        module = compile_module(text)
    except InternalError as error:
        assert "__divti3" in str(error)
    else:  # a process that has the compiler's run-time library loaded
        assert "__divti3" in read_symbols(module.object_code()).undefined


def test_a_module_that_llvm_refuses_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="bug in lend"):
        compile_module("define i32 @f() {\n  ret i64 0\n}\n")


def test_an_unknown_function_is_an_error_not_an_abort() -> None:
    with pytest.raises(InternalError, match="no function nothing"):
        compile_module(ADD).address("nothing")


def test_given_symbols_are_called() -> None:
    seen: list[int] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(seen.append)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    text = "declare void @lend_test_hook(i64)\ndefine void @f() {\n  call void @lend_test_hook(i64 7)\n  ret void\n}\n"
    module = compile_module(text, symbols={"lend_test_hook": address})
    call(module.address("f"), None)
    assert seen == [7]


def test_each_module_calls_the_function_that_it_was_given() -> None:
    seen: list[str] = []
    callbacks = [ctypes.CFUNCTYPE(None, ctypes.c_int64)(lambda _, name=name: seen.append(name)) for name in "ab"]
    text = "declare void @lend_test_other(i64)\ndefine void @f() {\n  call void @lend_test_other(i64 7)\n  ret void\n}\n"
    addresses = [ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in callbacks]
    modules = [compile_module(text, symbols={"lend_test_other": address}) for address in addresses]
    for module in modules:
        call(module.address("f"), None)
    assert seen == ["a", "b"]


@pytest.fixture
def llvms_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects that the loader of our own leaves to LLVM's."""
    monkeypatch.setattr(loader, "load", lambda *_: None)


def test_llvms_loader_is_used_where_ours_does_not_do(llvms_loader: None) -> None:
    module = compile_module(ADD)
    assert call(module.address("add"), ctypes.c_int64, (ctypes.c_int64, 40), (ctypes.c_int64, 2)) == 42


def test_llvms_loader_has_one_address_for_a_symbol(llvms_loader: None) -> None:
    seen: list[int] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(seen.append)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    text = "declare void @lend_test_third(i64)\ndefine void @f() {\n  call void @lend_test_third(i64 7)\n  ret void\n}\n"
    module = compile_module(text, symbols={"lend_test_third": address})
    call(module.address("f"), None)
    assert seen == [7]
    with pytest.raises(InternalError, match="two addresses"):
        compile_module(text, symbols={"lend_test_third": address + 16})


def test_an_object_file_is_loaded_again() -> None:
    first = compile_module(ADD)
    again = load_object(first.object_code())
    assert call(again.address("add"), ctypes.c_int64, (ctypes.c_int64, 1), (ctypes.c_int64, 2)) == 3
    with pytest.raises(InternalError, match="without its bitcode"):
        _ = again.llvm
    assert load_object(first.object_code(), bitcode=first.bitcode).llvm == first.llvm


def test_code_is_the_same_each_time() -> None:
    assert compile_module(POWER).object_code() == compile_module(POWER).object_code()


def test_symbols_of_an_object_file() -> None:
    symbols = read_symbols(compile_module(POWER).object_code())
    assert "power" in symbols.defined
    assert "pow" in symbols.undefined
    with pytest.raises(InternalError, match="ELF"):
        read_symbols(b"not an object file")


def test_several_threads_compile_at_once() -> None:
    results: list[object] = []

    def work(k: int) -> None:
        for turn in range(5):
            text = ADD.replace("add i64 %a, %b", f"add i64 %a, {k * 100 + turn}")
            module = compile_module(text)
            got = call(module.address("add"), ctypes.c_int64, (ctypes.c_int64, 1), (ctypes.c_int64, 0))
            results.append(got == 1 + k * 100 + turn)
        gc.collect()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_another_thread_compiles_can_compile() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            compile_module(POWER)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                module = compile_module(ADD)
                got = call(module.address("add"), ctypes.c_int64, (ctypes.c_int64, 2), (ctypes.c_int64, 2))
                os._exit(0 if got == 4 else 1)
            assert wait_for(child) == 0
    finally:
        stop.set()
        thread.join()


def wait_for(child: int, seconds: float = 20.0) -> int:
    """The exit status of a child; it is killed, and the test fails, if it hangs."""
    import signal
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def test_the_target_has_a_key_and_takes_a_processor_by_name() -> None:
    assert host().cpu in cpu().key
    assert cpu().machine == host()
    if host().architecture == "x86_64":
        old = cpu("x86-64-v2")
        assert old.key != cpu().key
        module = old.compile(ADD)
        assert call(module.address("add"), ctypes.c_int64, (ctypes.c_int64, 2), (ctypes.c_int64, 2)) == 4


def test_code_for_another_architecture_can_be_looked_at() -> None:
    from lend.targets.cpu.emit import assembly, optimise

    machine = named("neoverse-n1", triple="aarch64-unknown-linux-gnu")
    assert "ret" in assembly(optimise(ADD, machine), machine)
