"""Addresses whose parts come one after the other are the addresses that they were."""

from __future__ import annotations

import ctypes
import random

import pytest

from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.device.places import Places
from lend.lower.indexing import add, multiply, subtract
from lend.targets.cpu.emit import compile_module

M = 1 << 64


class Written:
    """A function `i64 f(start, own, n, stride)` that gives an address from 0."""

    def __init__(self) -> None:
        self.builder = FunctionBuilder(ModuleBuilder())
        self.sums: dict[str, tuple[str, str, str]] = {}
        self.places = Places(self.builder, self.sums)
        self.place = self.builder.emit("add i64 %start, %own")
        self.places.note(self.place, "%start", "%own", 1024)

    def sum(self, operator: str, left: str, right: str) -> str:
        """Arithmetic of the kernel, as it is noted."""
        write = {"add": add, "sub": subtract, "mul": multiply}[operator]
        result = write(self.builder, left, right)
        if result.startswith("%"):
            self.sums.setdefault(result, (operator, left, right))
        return result

    def address(self, indices: list[str], strides: tuple[str, ...]) -> str | None:
        return self.places.address("%base", indices, strides)

    def run(self, results: list[str], arguments: tuple[int, ...]) -> list[int]:
        """The values of results."""
        builder = self.builder
        for position, result in enumerate(results):
            at = builder.emit(f"getelementptr i8, ptr %out, i64 {8 * position}")
            builder.append(f"store i64 {result}, ptr {at}")
        builder.ret("void")
        head = "define void @f(ptr %out, ptr %base, i64 %start, i64 %own, i64 %n, i64 %stride)"
        builder.module.add_function(f"{head} {{\n{builder.body()}\n}}")
        compiled = compile_module(builder.module.text())
        out = (ctypes.c_int64 * max(len(results), 1))()
        numbers = [ctypes.c_int64(number) for number in arguments]
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 4)(compiled.address("f"))
        function(ctypes.addressof(out), None, *numbers)
        return list(out)


def expression(written: Written, choices: random.Random, depth: int) -> str:
    """An index."""
    if depth == 0 or choices.random() < 0.2:
        return choices.choice([written.place, written.place, "%n", str(choices.randint(-9, 9))])
    operator = choices.choice(["add", "add", "sub", "mul"])
    return written.sum(operator, *(expression(written, choices, depth - 1) for _ in range(2)))


@pytest.mark.parametrize("seed", range(12))
def test_random_indices(seed: int) -> None:
    choices = random.Random(seed)
    written = Written()
    results: list[str] = []
    for _ in range(40):
        indices = [expression(written, choices, 4) for _ in range(choices.choice([1, 2, 3]))]
        strides = tuple(choices.choice(["8", "4", "1", "24", "%stride", "-8"]) for _ in indices)
        plain = "0"
        for index, stride in zip(indices, strides, strict=True):
            plain = add(written.builder, plain, multiply(written.builder, index, stride))
        address = written.address(indices, strides)
        if address is not None:
            results += [written.builder.emit(f"ptrtoint ptr {address} to i64"), plain]
    assert len(results) > 10
    found = written.run(results, (1 << 40, 1023, choices.randint(-5, 5), 8 * choices.randint(1, 1 << 30)))
    assert [x % M for x in found[::2]] == [x % M for x in found[1::2]]


def test_a_number_comes_last_and_what_is_shared_first() -> None:
    written = Written()
    index = written.sum("add", written.sum("add", written.place, "%n"), "3")
    written.address([index], ("8",))
    lines = [line.split(" = ")[1] for line in written.builder.body().splitlines() if "getelementptr" in line]
    assert [line.split(", ")[-1].startswith("i64 %") for line in lines] == [True, True, False]
    assert lines[-1].endswith("i64 24")
    assert "mul nuw nsw i64 %own, 8" in written.builder.body()


def test_what_does_not_fit_is_left_alone() -> None:
    written = Written()
    assert written.address(["%n", "4"], ("%stride", "8")) is None
    assert written.address([written.place], ("%stride",)) is None
    assert written.address([written.sum("sub", "%n", written.place)], ("8",)) is None
    assert written.address([written.sum("mul", written.place, "%n")], ("8",)) is None
    assert written.address([written.sum("mul", written.place, str(1 << 20))], ("8",)) is None
    assert written.address([written.place], (str(1 << 24),)) is None


def test_moved_indices_keep_their_parts() -> None:
    written = Written()
    first = written.builder.emit(f"add i64 %n, {written.builder.emit(f'mul i64 {written.place}, 4')}")
    written.places.moved(first, written.place, "%n", 4)
    address = written.address([first], ("8",))
    assert address is not None
    results = [written.builder.emit(f"ptrtoint ptr {address} to i64"), multiply(written.builder, first, "8")]
    found = written.run(results, (1000, 17, 5, 0))
    assert found == [8 * (5 + 4 * 1017)] * 2
