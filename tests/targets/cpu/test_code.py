"""What must stand in the machine code: vectors of the width the machine prefers, the vector library, fused operations."""

from __future__ import annotations

import re

import pytest

from lend.language.types import F32, F64, I32, MathMode, ScalarType
from lend.lower.arithmetic import ScalarEmitter
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.targets.cpu.emit import assembly, compile_module, optimise
from lend.targets.cpu.machine import Machine, host, named
from lend.targets.cpu.vector_library import attach

X86 = host().architecture == "x86_64"
AVX2 = "+avx2" in host().features


def region(math: MathMode, write, type: ScalarType = F32) -> str:
    """A region like those that lend writes: `y[i] = write(x[i], y[i])` over [begin, end), arrays in an environment."""
    module = ModuleBuilder()
    builder = FunctionBuilder(module)
    domain = module.metadata("distinct !{!self}")
    scopes = module.metadata(f"!{{{module.metadata(f'distinct !{{!self, {domain}}}')}}}")
    emitter = ScalarEmitter(builder, math)
    x = builder.emit("load ptr, ptr %env, align 8")
    y = builder.emit(f"load ptr, ptr {builder.emit('getelementptr i8, ptr %env, i64 8')}, align 8")
    head, body, done = builder.new_block("head"), builder.new_block("body"), builder.new_block("done")
    slot = builder.alloca("i64")
    builder.append(f"store i64 %begin, ptr {slot}")
    builder.jump(head)
    builder.open(head)
    i = builder.emit(f"load i64, ptr {slot}")
    builder.branch(builder.emit(f"icmp slt i64 {i}, %end"), body, done)
    builder.open(body)
    offset = builder.emit(f"mul i64 {i}, {type.bytes}")
    from_x, to_y = (builder.emit(f"getelementptr i8, ptr {base}, i64 {offset}") for base in (x, y))
    values = [
        emitter.load(type, from_x, type.bytes, f", !alias.scope {scopes}"),
        emitter.load(type, to_y, type.bytes, f", !noalias {scopes}"),
    ]
    emitter.store(type, write(emitter, values), to_y, type.bytes, f", !noalias {scopes}")
    builder.append(f"store i64 {builder.emit(f'add i64 {i}, 1')}, ptr {slot}")
    builder.jump(head)
    builder.open(done)
    builder.ret("void")
    module.add_function(f"define void @region(ptr noalias %env, i64 %begin, i64 %end) {{\n{builder.body()}\n}}")
    return module.text()


def saxpy(emitter: ScalarEmitter, values: list[str]) -> str:
    product = emitter.binary("mul", F32, emitter.constant(F32, 2.5), values[0])
    return emitter.binary("add", F32, product, values[1])


def sine(emitter: ScalarEmitter, values: list[str]) -> str:
    return emitter.math("sin", [F32], [values[0]], F32)


@pytest.mark.skipif(not (X86 and AVX2), reason="needs AVX2")
def test_a_map_is_vectorised_at_256_bits_or_more() -> None:
    asm = compile_module(region("default", saxpy)).asm
    assert re.search(r"vfmadd\w+ps.*%[yz]mm", asm), asm
    strict = compile_module(region("strict", saxpy)).asm
    assert re.search(r"vmulps.*%[yz]mm", strict) and "vfmadd" not in strict


@pytest.mark.skipif(not X86, reason="x86-64 only")
def test_an_old_processor_gets_its_own_width() -> None:
    asm = compile_module(region("default", saxpy), machine=named("x86-64-v2")).asm
    assert "mulps" in asm and "%ymm" not in asm and "vfmadd" not in asm


@pytest.mark.skipif(not (X86 and AVX2), reason="needs AVX2")
@pytest.mark.parametrize("type", [I32, F32, F64], ids=str)
def test_comparisons_minima_and_casts_are_vectorised(type: ScalarType) -> None:
    asm = compile_module(region("default", lambda e, v: e.binary("min", type, v[0], v[1]), type)).asm
    assert re.search(r"%[yz]mm", asm)
    asm = compile_module(region("default", lambda e, v: e.cast(I32, type, e.cast(type, I32, v[0])), type)).asm
    assert re.search(r"%[yz]mm", asm)


@pytest.mark.skipif(not (X86 and AVX2), reason="needs AVX2")
def test_the_vector_library_is_called_by_default_and_not_under_strict() -> None:
    default = compile_module(region("default", sine))
    if "_ZGV" not in attach(region("default", sine), host()).replace("lend-vector-math", ""):
        pytest.skip("no vector library here")
    assert re.search(r"_ZGV[de]N\d+v_sinf", default.asm)
    strict = compile_module(region("strict", sine))
    assert "_ZGV" not in strict.asm and "sinf" in strict.asm


@pytest.mark.skipif(not X86, reason="x86-64 only")
def test_only_variants_of_the_machines_widths_are_offered() -> None:
    text = region("default", sine)
    sets = {
        name: set(re.findall(r"_ZGV(\w)N", attach(text, machine)))
        for name, machine in {
            "sse": named("x86-64-v2"),
            "avx2": Machine(host().triple, "x86-64-v3", "+avx,+avx2,+fma"),
            "avx512": Machine(host().triple, "x86-64-v4", "+avx,+avx2,+fma,+avx512f"),
        }.items()
    }
    if not sets["sse"]:
        pytest.skip("no vector library here")
    assert sets == {"sse": {"b"}, "avx2": {"b", "d"}, "avx512": {"b", "d", "e"}}


def test_aarch64_code_uses_its_vector_library_names_and_vectors() -> None:
    machine = named("neoverse-n1", triple="aarch64-unknown-linux-gnu")
    text = assembly(optimise(region("default", sine), machine), machine)
    if not machine.is_host_architecture:
        assert "_ZGVnN4v_sinf" in text
    assert re.search(r"fmla\s+v\d+\.4s", assembly(optimise(region("default", saxpy), machine), machine))


def test_f16_takes_no_library_call() -> None:
    from lend.language.types import F16
    from lend.targets.cpu.object_file import read_symbols

    for cpu in (host(), named("x86-64" if X86 else "generic")):
        module = compile_module(region("default", lambda e, v: e.binary("mul", F16, v[0], v[1]), F16), machine=cpu)
        assert not read_symbols(module.object_code()).undefined
