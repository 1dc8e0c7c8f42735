"""Objects loaded without LLVM: code, constants, variables, calls, and what is left to LLVM's loader."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys

import pytest

from lend.targets.cpu import loader
from lend.targets.cpu.emit import compile_module
from lend.targets.cpu.machine import host, named

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or host().architecture != "x86_64", reason="the loader knows x86-64 on Linux"
)

TEXT = """
@table = internal constant [3 x i64] [i64 5, i64 7, i64 11]
@pointer = internal constant ptr getelementptr (i64, ptr @table, i64 1)
@count = global i64 40
@zeros = global [100 x i64] zeroinitializer
declare double @pow(double, double)
define i64 @constant(i64 %k) {
  %p = getelementptr i64, ptr @table, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @through() {
  %p = load ptr, ptr @pointer
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @next() {
  %v = load i64, ptr @count
  %w = add i64 %v, 1
  store i64 %w, ptr @count
  ret i64 %w
}
define i64 @zero(i64 %k) {
  %p = getelementptr i64, ptr @zeros, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}
define double @power(double %x, double %y) {
  %v = call double @pow(double %x, double %y)
  ret double %v
}
"""


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_module(TEXT, quick=True).object_code()


def loaded(code: bytes) -> loader.Loaded:
    found = loader.load(code, {})
    assert found is not None
    return found


def i64(address: int, *arguments: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(address)(*arguments)


def test_code_reads_constants_and_what_they_point_to(code: bytes) -> None:
    found = loaded(code)
    assert [i64(found.address("constant"), k) for k in range(3)] == [5, 7, 11]
    assert i64(found.address("through")) == 7


def test_variables_are_each_loads_own(code: bytes) -> None:
    first, second = loaded(code), loaded(code)
    assert i64(first.address("next")) == 41 and i64(first.address("next")) == 42
    assert i64(second.address("next")) == 41
    assert ctypes.c_int64.from_address(first.data_address("count")).value == 42
    assert [i64(first.address("zero"), k) for k in (0, 99)] == [0, 0]


def test_functions_of_the_mathematical_library_are_called(code: bytes) -> None:
    found = loaded(code)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(found.address("power"))(2.0, 10.0) == 1024.0


def test_no_memory_is_writable_and_executable(code: bytes) -> None:
    found = loaded(code)
    modes: dict[str, str] = {}
    with open("/proc/self/maps", encoding="utf-8") as lines:
        for line in lines:
            stretch, mode = line.split()[:2]
            start, end = (int(part, 16) for part in stretch.split("-"))
            for name in ("constant", "count", "zeros"):
                if start <= found.address(name) < end:
                    modes[name] = mode[:3]
    assert modes == {"constant": "r-x", "count": "rw-", "zeros": "rw-"}


def test_memory_is_given_back(code: bytes) -> None:
    found = loaded(code)
    address = found.address("constant")

    def mapped() -> bool:
        with open("/proc/self/maps", encoding="utf-8") as lines:
            stretches = [line.split()[0].split("-") for line in lines]
        return any(int(start, 16) <= address < int(end, 16) for start, end in stretches)

    assert mapped()
    del found
    gc.collect()
    assert not mapped()


def test_an_unknown_symbol_is_not_called() -> None:
    text = "declare void @lend_nowhere()\ndefine void @f() {\n  call void @lend_nowhere()\n  ret void\n}\n"
    object_code = compile_module(text, quick=True, symbols={"lend_nowhere": 1}).object_code()
    assert loader.load(object_code, {}) is None


def test_code_of_another_architecture_is_left_alone(code: bytes) -> None:
    other = bytearray(code)
    struct.pack_into("<H", other, 0x12, 183)  # AArch64
    assert loader.load(bytes(other), {}) is None


def test_a_relocation_that_is_not_known_is_left_to_llvm(code: bytes) -> None:
    """The type of the first relocation, changed to one for a table of offsets."""
    from lend.targets.cpu.object_file import RELOCATIONS, read_object

    file = read_object(code)
    section = next(s for s in file.sections if s.type == RELOCATIONS and file.sections[s.info].name != ".eh_frame")
    at = code.index(section.data)
    other = bytearray(code)
    struct.pack_into("<I", other, at + 8, 25)  # R_X86_64_GOTOFF64
    assert loader.load(bytes(other), {}) is None


def test_code_for_an_older_processor_is_loaded_too() -> None:
    module = compile_module(TEXT, machine=named("x86-64-v2"))
    assert i64(loaded(module.object_code()).address("constant"), 2) == 11
