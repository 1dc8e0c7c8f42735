"""Kernels found on disk: what must find them, what must not, and that they are the same as kernels compiled now.

A new process is played by loading a module anew; `made` counts what is defined and compiled from source. The last tests start
processes.
"""

from __future__ import annotations

import importlib.util
import linecache
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lend
from lend.driver import definition, environment, native_entries, specialisation
from lend.driver.launch_proofs import LaunchProofs
from lend.runtime import store

HEAD = """
import math
from collections.abc import Callable
import numpy as np
import lend
from lend import Index, Mut, Out, Ref, T, comptime, f32, f64, i32, i64
from lend.dims import M, N
"""

SCALE = (
    HEAD
    + """
SCALE = 2.0

@lend.kernel
def scaled(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = SCALE * x[i]
"""
)


@dataclass
class Made:
    """How many kernels were defined and compiled from source; and how many entry points were written."""

    defined: int = 0
    compiled: int = 0
    entries: int = 0

    def take(self) -> tuple[int, int]:
        """The counts since the last time."""
        counts = (self.defined, self.compiled)
        self.defined = self.compiled = 0
        return counts


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    before = (lend.config.cache, lend.config.cache_dir)
    lend.config.cache, lend.config.cache_dir = True, tmp_path / "cache"
    yield tmp_path / "cache" / "lend-1"
    lend.config.cache, lend.config.cache_dir = before


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    counts = Made()
    define, compiled = definition._define, specialisation.compiled  # pyright: ignore[reportPrivateUsage]

    def counted_define(*arguments: Any) -> Any:
        counts.defined += 1
        return define(*arguments)

    def counted_compile(*arguments: Any) -> Any:
        counts.compiled += 1
        return compiled(*arguments)

    monkeypatch.setattr(definition, "_define", counted_define)
    monkeypatch.setattr(specialisation, "compiled", counted_compile)
    write = native_entries._made  # pyright: ignore[reportPrivateUsage]

    def counted_write(*arguments: Any) -> Any:
        counts.entries += 1
        return write(*arguments)

    monkeypatch.setattr(native_entries, "_made", counted_write)
    return counts


Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def load(text: str, name: str = "kernels") -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        linecache.checkcache(str(path))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, str(path), "exec"), module.__dict__)
        return module

    return load


def scaled(module: ModuleType) -> float:
    x, y = np.arange(5.0), np.empty(5)
    module.scaled(x, y)
    return float(y[1])


# ------------------------------------------------------------------------------------------------------------------ found


def test_a_kernel_is_defined_and_compiled_once(load: Load, made: Made) -> None:
    assert scaled(load(SCALE)) == 2.0
    assert made.take() == (1, 1)
    assert scaled(load(SCALE)) == 2.0
    assert made.take() == (0, 0)


def test_nothing_is_kept_if_the_setting_says_so(load: Load, made: Made, folder: Path) -> None:
    lend.config.cache = False
    for _ in range(2):
        assert scaled(load(SCALE)) == 2.0
        assert made.take() == (1, 1)
    assert not folder.exists()


def test_lines_above_and_below_do_not_matter(load: Load, made: Made) -> None:
    load(SCALE).scaled(np.arange(5.0), np.empty(5))
    made.take()
    moved = "# a comment\n\n\n" + SCALE + "\n\ndef later():\n    return 1\n"
    assert scaled(load(moved)) == 2.0
    assert made.take() == (0, 0)


def test_the_same_kernel_in_another_file_is_the_same(load: Callable[..., ModuleType], made: Made) -> None:
    scaled(load(SCALE))
    made.take()
    assert scaled(load(SCALE, "other")) == 2.0
    assert made.take() == (0, 0)


def test_several_variants_are_kept(load: Load, made: Made) -> None:
    for value in ("2.0", "3.0", "2.0", "3.0"):
        assert scaled(load(SCALE.replace("2.0", value))) == float(value)
    assert made.take() == (2, 2)


# ---------------------------------------------------------------------------------------------------------- what must miss

CALLS = (
    HEAD
    + """
import types
settings = types.SimpleNamespace(shift=1.0)
xp = math

class Level:
    LOW = 1.0

@lend.struct
class Pair:
    a: f64
    b: f64

PAIR = Pair(1.0, 2.0)
TABLE = (1.0, 2.0, 4.0)

def make(k):
    @lend.function
    def inner(x):
        return x * k
    return inner

times = make(3.0)

@lend.function
def deep(x):
    return x + 1.0

@lend.function
def shifted(x: f64, by: f64 = 0.5) -> f64:
    return deep(x) + by

@lend.kernel
def inner_kernel(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i] + 0.25

@lend.kernel
def scaled(x: Ref[f64, N], y: Out[f64, N]):
    t = lend.empty(f64, N)
    inner_kernel(x, t)
    for i in lend.grid(N):
        captured = settings.shift + Level.LOW + PAIR.a + TABLE[1] + TABLE[len(TABLE) - 1]
        y[i] = shifted(t[i]) + captured + times(t[i]) + f64(xp.floor(t[i]))
"""
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shift=1.0", "shift=1.5"),
        ("LOW = 1.0", "LOW = 2.0"),
        ("Pair(1.0", "Pair(5.0"),
        ("TABLE = (1.0, 2.0,", "TABLE = (1.0, 3.0,"),
        ("TABLE = (1.0, 2.0, 4.0", "TABLE = (1.0, 2.0, 4.0, 8.0"),
        ("make(3.0)", "make(4.0)"),
        ("return x * k", "return x * k * 2.0"),
        ("return x + 1.0", "return x + 7.0"),
        ("by: f64 = 0.5", "by: f64 = 0.75"),
        ("return deep(x) + by", "return deep(x) - by"),
        ("x: f64, by", "x: f32, by"),
        ("by: f64 = 0.5) -> f64", "by: f64 = 0.5) -> f32"),
        ("x[i] + 0.25", "x[i] + 0.125"),
        ("xp = math", "xp = np"),
        ("+ f64(xp.floor", "- f64(xp.floor"),
        ("def deep(x):", "def deep(x):\n    x = x * 2.0"),
    ],
)
def test_whatever_changes_a_kernel_is_noticed(load: Load, made: Made, old: str, new: str) -> None:
    """Each change by itself, after the unchanged program was kept; compared with the changed program compiled anew."""

    def run(text: str) -> np.ndarray[Any, Any]:
        x, y = np.array([0.3, 1.7, 2.9]), np.empty(3)
        try:
            load(text).scaled(x, y)
        except lend.CompileError:
            return np.zeros(0)
        return y

    assert old in CALLS
    before = run(CALLS)
    assert made.take()[1] == 1
    assert (run(CALLS) == before).all()
    assert made.take() == (0, 0)
    after = run(CALLS.replace(old, new))
    assert made.take() != (0, 0)
    lend.config.cache = False
    assert np.array_equal(run(CALLS.replace(old, new)), after)


def test_another_name_for_the_same_function_is_not_another_function(load: Load, made: Made) -> None:
    """Two names of one function, then of two that look alike: what the second reads must be looked at too."""
    text = (
        HEAD
        + """
def make(k):
    @lend.function
    def inner(x):
        return x * k
    return inner

f = make(2.0)
g = f

@lend.kernel
def scaled(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = f(x[i]) + g(x[i])
"""
    )
    assert scaled(load(text)) == 4.0
    assert scaled(load(text.replace("g = f", "g = make(5.0)"))) == 7.0
    assert scaled(load(text)) == 4.0


def test_a_name_that_hides_a_function_of_pythons(load: Load, made: Made) -> None:
    text = SCALE.replace("SCALE * x[i]", "SCALE * abs(x[i])")
    assert scaled(load(text)) == 2.0
    hidden = text.replace("SCALE = 2.0", "SCALE = 2.0\n\n@lend.function\ndef abs(x):\n    return x * 10.0\n")
    assert scaled(load(hidden)) == 20.0
    assert scaled(load(text)) == 2.0


def test_types_layouts_and_modes_are_kept_apart(load: Load, made: Made) -> None:
    text = SCALE.replace("@lend.kernel", '@lend.kernel(math="strict")')
    x, y = np.arange(6.0), np.empty(6)
    load(SCALE).scaled(x[::2], y[::2])
    load(SCALE).scaled(x, y)
    load(text).scaled(x, y)
    assert made.take() == (2, 3)
    load(SCALE).scaled(x[::2], y[::2])
    load(SCALE).scaled(x, y)
    load(text).scaled(x, y)
    assert made.take() == (0, 0)


def test_compile_time_values_are_kept_apart(load: Load, made: Made) -> None:
    text = (
        HEAD
        + """
@lend.function
def plus(a, b):
    return a + b

@lend.function
def minus(a, b):
    return a - b

@lend.kernel
def power(x: Ref[T, N], y: Out[T, N], k: comptime[int], op: comptime[Callable] = plus):
    for i in lend.grid(N):
        t = x[i]
        for _ in lend.static_range(k):
            t = op(t, x[i])
        y[i] = t
"""
    )

    def run(dtype: Any, k: int, *op: str) -> float:
        module = load(text)
        x, y = np.full(3, 2, dtype), np.empty(3, dtype)
        module.power(x, y, k, *(getattr(module, name) for name in op))
        return float(y[0])

    cases = [(np.float64, 1), (np.float64, 2), (np.float32, 2), (np.int32, 2), (np.float64, 2, "minus"), (np.float64, 2, "plus")]
    first = [run(*case) for case in cases]
    assert first == [4.0, 6.0, 6.0, 6.0, -2.0, 6.0]
    assert made.take()[1] == 5
    assert [run(*case) for case in cases] == first
    assert made.take() == (0, 0)


@pytest.mark.parametrize("what", ["files", "llvm", "isl", "processor", "numpy"])
def test_whatever_it_is_built_with_is_noticed(load: Load, made: Made, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    scaled(load(SCALE))
    made.take()
    library = environment.library
    changes: dict[str, tuple[str, Any]] = {
        "files": ("own_files", lambda: [("/kernel.py", 1, 2)]),
        "llvm": ("library", lambda name: ("22.0",) if name == "llvmlite" else library(name)),
        "isl": ("library", lambda name: ("2030",) if name == "islpy" else library(name)),
        "processor": ("identity", lambda: "another processor"),
        "numpy": ("np", type("np", (), {"__version__": "9.9"})),
    }
    with monkeypatch.context() as patch:
        patch.setattr(environment, *changes[what])
        environment._process.cache_clear()  # pyright: ignore[reportPrivateUsage]
        assert scaled(load(SCALE)) == 2.0
        assert made.take() == (1, 1)
    environment._process.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert scaled(load(SCALE)) == 2.0
    assert made.take() == (0, 0)


def test_the_environment_names_what_is_installed() -> None:
    assert any(name == "/driver/environment.py" for name, _, _ in environment.own_files())
    version, *rest = environment.library("llvmlite")[1:]
    assert "version" in version and any("libllvmlite" in name for name in rest)
    assert environment.library("lend_has_no_such_package") == ("lend_has_no_such_package", "none")


def test_a_value_that_cannot_be_told_from_others_is_not_kept(load: Load, made: Made) -> None:
    """A table of functions: which of them is meant cannot be said in another process."""
    text = (
        HEAD
        + """
def make(k):
    @lend.function
    def inner(x):
        return x * k
    return inner

stages = (make(2.0), make(3.0))

@lend.kernel
def scaled(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = stages[0](x[i]) + stages[1](x[i])
"""
    )
    assert scaled(load(text)) == 5.0
    assert scaled(load(text.replace("make(3.0)", "make(4.0)"))) == 6.0
    assert made.take() == (2, 2)


def test_a_captured_value_that_changes_later_is_noticed_too(load: Load, made: Made) -> None:
    scaled(load(SCALE))
    scaled(load(SCALE.replace("2.0", "3.0")))
    made.take()
    module = load(SCALE)
    assert [scaled(module) for _ in range(3)] == [2.0] * 3
    module.SCALE = 3.0
    assert [scaled(module) for _ in range(3)] == [3.0] * 3
    module.SCALE = 2.0
    assert [scaled(module) for _ in range(3)] == [2.0] * 3
    assert made.take() == (0, 0)
    module.SCALE = 4.0
    assert scaled(module) == 4.0
    assert made.take() == (0, 1)


def test_a_refused_kernel_is_refused_again(load: Load, made: Made, folder: Path) -> None:
    text = HEAD + "\n@lend.kernel\ndef k(x: Mut[f64, N]):\n    for i in lend.grid(1, N):\n        x[i] = x[i - 1]\n"
    for _ in range(2):
        with pytest.raises(lend.CompileError):
            load(text)
        assert made.take() == (1, 0)
    assert not folder.exists()


def test_a_global_that_makes_a_kernel_wrong_is_noticed_when_it_is_defined(load: Load, made: Made) -> None:
    text = SCALE.replace("y[i] = SCALE * x[i]", "y[i + SHIFT] = x[i]").replace("SCALE = 2.0", "SHIFT = 0")
    load(text)
    with pytest.raises(lend.CompileError):
        load(text.replace("SHIFT = 0", "SHIFT = 1"))


def test_contracts_are_those_of_this_process(load: Load, made: Made) -> None:
    """What the prover does not understand of a contract is no fact for it, but entry points hold its values."""
    text = (
        HEAD
        + """
import types
LIMIT = 100
bounds = types.SimpleNamespace(most=1000)

@lend.kernel
def limited(x: Mut[f64, N], k: i64):
    assert math.gcd(k, 6) == 1 and k < LIMIT and k < bounds.most
    for i in lend.grid(N):
        x[i] = f64(k)
"""
    )

    def accepts(text: str) -> list[int]:
        kernel, found = load(text).limited, []
        for k in (5, 5, 5, 7, 49, 95, 101, 4):
            try:
                kernel(np.zeros(3), k)
                found.append(k)
            except lend.ContractError:
                pass
        return found

    assert accepts(text) == [5, 5, 5, 7, 49, 95]
    assert accepts(text) == [5, 5, 5, 7, 49, 95]
    assert accepts(text.replace("LIMIT = 100", "LIMIT = 50")) == [5, 5, 5, 7, 49]
    assert accepts(text.replace("most=1000", "most=6")) == [5, 5, 5]
    assert accepts(text.replace("LIMIT = 100", "LIMIT = 500")) == [5, 5, 5, 7, 49, 95, 101]


def test_arguments_in_entry_points_are_those_of_this_process(load: Load, made: Made) -> None:
    """Names, defaults, compile-time functions: in the table of an entry point that was found."""
    text = (
        HEAD
        + """
@lend.function
def plus(a, b):
    return a + b

@lend.function
def minus(a, b):
    return a - b

@lend.kernel
def apply(x: Ref[f64, N], y: Out[f64, N], op: comptime[Callable], scale: f64 = 10.0, *, flip: comptime[bool] = False):
    for i in lend.grid(N):
        y[i] = op(x[i], scale) if not flip else op(scale, x[i])
"""
    )

    def run(module: ModuleType) -> list[float]:
        found = []
        for op in (module.plus, module.minus):
            for more in ({}, {"scale": 3}, {"flip": True}, {"flip": True, "scale": 2.5}):
                y = np.empty(2)
                for _ in range(3):
                    module.apply(np.array([1.0, 2.0]), op=op, y=y, **more)
                    found.append(float(y[1]))
        return found

    first = run(load(text))
    made.entries = 0
    assert run(load(text)) == first
    assert made.entries == 0
    changed = run(load(text.replace("= 10.0", "= 20.0")))
    lend.config.cache = False
    assert run(load(text.replace("= 10.0", "= 20.0"))) == changed != first


# ----------------------------------------------------------------------------------------------- the same as compiled now

TOOLS = (
    HEAD
    + """
LIMIT = 100

@lend.struct
class Pair:
    a: f64
    b: i32

@lend.function
def third(x, i):
    return x[i + 2]

@lend.kernel
def reads(x: Ref[f64, N], where: Ref[i64, M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = third(x, where[i])

@lend.kernel
def contract(x: Ref[f64, N], k: i64) -> f64:
    assert k < LIMIT and N % 2 == 0, "an even number"
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s * f64(k)

@lend.kernel
def results(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (x[0], i64(0))
    for i in lend.grid(N):
        best = max(best, (x[i], i64(i)))
    return best

@lend.kernel
def array(x: Ref[f64, N]):
    y = lend.empty(f64, N, 2)
    for i in lend.grid(N):
        y[i, 0] = x[i]
        y[i, 1] = -x[i]
    return y

@lend.kernel
def record(p: Pair, x: Ref[f64, N]):
    s = 0.0
    for i in lend.grid(N):
        s += x[i] * p.a
    return Pair(s, p.b)

@lend.kernel
def gathered(where: Ref[Index[N], M], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = math.degrees(x[where[i]])

@lend.kernel
def many(parts: tuple[Ref[f64, N], ...], y: Out[f64, N]):
    for i in lend.grid(N):
        t = 0.0
        for part in parts:
            t += part[i]
        y[i] = t
"""
)


def outcomes(module: ModuleType) -> list[str]:
    """What the kernels of TOOLS give for right and wrong calls, as texts."""
    x = np.arange(10.0)

    def arguments(name: str) -> list[tuple[Any, ...]]:
        y = np.zeros(4)
        match name:
            case "reads":
                return [(x, np.array([0, 3, 7, 2]), y), (x, np.array([0, 8, -5, 2]), y)]
            case "contract":
                return [(x, 3), (x, 100), (x[:9], 3), (x, 3.5)]
            case "results" | "array":
                return [(x,), (x[:0],), (x.astype(np.float32),)]
            case "record":
                return [(module.Pair(2.0, 7), x)]
            case "gathered":
                return [(np.array([1, 9, 0, 4]), x, y), (np.array([1, 10, 0, 4]), x, y)]
            case _:
                return [((x[:4], x[4:8]), y), ((x[:4], x[4:8], x[6:]), y), ((), y)]

    found: list[str] = []
    for name in ("reads", "contract", "results", "array", "record", "gathered", "many"):
        kernel = getattr(module, name)
        found.append(f"{kernel.__doc__} {kernel!r}")
        for call in arguments(name):
            for _ in range(3):  # in Python, then in machine code
                try:
                    found.append(f"{kernel(*call)!r} {call!r}")
                except lend.LendError as error:
                    found.append(f"{type(error).__name__} {error} {sorted(vars(error).items())!r}")
        if name not in ("record", "many"):
            found.append(str(kernel.proofs()))
    return found


@pytest.mark.parametrize("above", ["", "\n# two lines\n"])
def test_kernels_found_do_what_compiled_ones_do(load: Load, made: Made, above: str) -> None:
    """Results, messages with their lines, attributes of errors, proofs; where lines were added above the kernels too."""
    outcomes(load(TOOLS))
    assert made.take()[1] > 8
    assert made.entries > 4
    made.entries = 0
    found = outcomes(load(above + TOOLS))
    assert made.take() == (0, 0)
    assert made.entries == 0
    lend.config.cache = False
    assert outcomes(load(above + TOOLS)) == found


def test_trees_and_texts_are_there_for_kernels_that_were_found(load: Load, made: Made) -> None:
    x = np.arange(4.0)
    load(TOOLS).reads(x, np.array([1]), np.empty(1))
    kernel = load(TOOLS).reads
    made.take()
    kernel(x, np.array([1]), np.empty(1))
    assert made.take() == (0, 0)
    assert "y" in kernel.lower().typed and "define" in kernel.lower(x, np.array([1]), np.empty(1)).llvm
    y = np.empty(1)
    kernel.py(x, np.array([1]), y)
    assert y[0] == 3.0
    assert len(list(kernel.judged())) >= 1


def test_proofs_are_of_the_captured_values_as_they_are(load: Load, made: Made) -> None:
    text = SCALE.replace("y[i] = SCALE * x[i]", "y[i] = x[i + SHIFT] if i + SHIFT < N else 0.0").replace(
        "SCALE = 2.0", "SHIFT = 0"
    )
    load(text)
    module = load(text)
    assert made.take() == (1, 0)
    proved = module.scaled.proofs()
    assert {proof.verdict for proof in proved} == {"proved"}
    module.SHIFT = -1
    assert module.scaled.proofs() != proved
    module.SHIFT = 0
    assert module.scaled.proofs() == proved


def test_a_kernel_may_call_one_that_was_found(load: Load, made: Made) -> None:
    module = load(CALLS)
    module.inner_kernel(np.arange(3.0), np.empty(3))
    made.take()
    module = load(CALLS.replace("shifted(t[i]) + captured", "shifted(t[i]) - captured"))
    y = np.empty(3)
    module.scaled(np.arange(3.0), y)
    assert made.take() == (1, 1)


def test_a_kernel_that_is_judged_at_each_call_is_judged_once_for_its_values(
    load: Load, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        HEAD
        + """
LIMIT = 100

@lend.kernel
def flat(x: Mut[f64, N], n: i64, m: i64, pitch: i64):
    assert m <= LIMIT
    for i, j in lend.grid(n, m):
        x[i * pitch + j] = 1.0
"""
    )
    judged: list[Any] = []
    judgement = LaunchProofs.judgement
    monkeypatch.setattr(LaunchProofs, "judgement", lambda *given: judged.append(given) or judgement(*given))
    messages: list[str] = []
    for _ in range(3):
        x = np.zeros(12)
        load(text).flat(x, 3, 4, 4)
        assert (x == 1.0).all()
        with pytest.raises(lend.ContractError) as refused:
            load(text).flat(x, 3, 4, 2)
        messages.append(str(refused.value))
    assert made.take() == (1, 1)
    assert len(judged) == 1 + 3  # once for values that are right, each time for those that are not
    assert len(set(messages)) == 1 and "pitch = 2" in messages[0]
    module = load(text)
    for pitch in (6, 4, 6, 5):
        module.flat(x, 2, 4, pitch)
    assert len(judged) == 1 + 3 + 3
    assert str(module.flat.proofs()) == str(load(text).flat.proofs())
    lend.config.cache = False
    assert str(load(text).flat.proofs()) == str(module.flat.proofs())


def test_steps_are_shown_even_if_a_kernel_was_compiled_before(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    scaled(load(SCALE))
    lend.config.dump = "lower"
    try:
        scaled(load(SCALE))
    finally:
        lend.config.dump = ""
    assert "# scaled: lower" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------------ damaged files


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "swapped"])
def test_damaged_files_are_compiled_anew(load: Load, made: Made, folder: Path, damage: str) -> None:
    expected = outcomes(load(TOOLS))
    made.take()
    contents = {file: file.read_bytes() for file in folder.iterdir() if ".kernel" in file.name}
    others = [*list(contents.values())[1:], b""]
    for (file, content), other in zip(contents.items(), others, strict=True):
        middle = len(content) // 2
        changed = {
            "cut": content[:middle],
            "empty": b"",
            "changed": content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :],
            "swapped": other,
        }
        file.write_bytes(changed[damage])
    assert outcomes(load(TOOLS)) == expected
    assert made.take()[1] > 8
    assert outcomes(load(TOOLS)) == expected
    assert made.take() == (0, 0)


def test_code_that_cannot_be_loaded_is_compiled_anew(load: Load, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a library lacked a function that it had when the code was made."""
    scaled(load(SCALE))
    made.take()
    monkeypatch.setattr(specialisation.assembled, "load", lambda _: None)
    assert scaled(load(SCALE)) == 2.0
    assert made.take() == (0, 1)


def test_a_folder_that_cannot_be_used_changes_nothing(
    load: Load, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    lend.config.cache_dir = tmp_path / "file"
    monkeypatch.setattr(store, "_warned", False)
    with pytest.warns(RuntimeWarning, match="cannot keep") as seen:
        assert [scaled(load(SCALE)) for _ in range(2)] == [2.0] * 2
    assert len(seen) == 1
    assert made.take() == (2, 2)


# ---------------------------------------------------------------------------------------------------------------- processes

PROGRAM = """
import sys
import numpy as np
import lend
from lend import Mut, Ref, f32
from lend.dims import N

FACTOR = 1.0

@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += FACTOR * (a * x[i])

x, y = np.arange(100_000, dtype=np.float32), np.ones(100_000, np.float32)
saxpy(2.0, x, y)
assert (y == 2 * np.arange(100_000) + 1).all()
compiler = ("llvmlite", "islpy", "lend.frontend.typecheck", "lend.frontend.parse", "lend.ir.typed")
print(sorted(name for name in compiler if name in sys.modules))
"""


CHILDREN = (
    PROGRAM
    + """
import os
import threading
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
threads = [threading.Thread(target=saxpy, args=(2.0, x, np.ones(100_000, np.float32))) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if hasattr(os, "fork"):
    child = os.fork()
    y[:] = 1
    for _ in range(4):
        saxpy(1.0, x, y)
    right = bool((y == 4 * np.arange(100_000) + 1).all())
    if child == 0:
        os._exit(7 if right else 8)
    assert right and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
)


def start(tmp_path: Path, text: str = PROGRAM, **more: str) -> subprocess.Popen[str]:
    program = tmp_path / "program.py"
    program.write_text(text)
    environment = {**os.environ, "LEND_CACHE": "1", "LEND_CACHE_DIR": str(tmp_path / "cache"), **more}
    return subprocess.Popen(
        [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def test_a_process_that_finds_everything_loads_no_compiler(tmp_path: Path) -> None:
    assert "llvmlite" in finish(start(tmp_path))[0]
    assert finish(start(tmp_path)) == ("[]", "")


def test_threads_and_children_of_a_process_that_found_everything(tmp_path: Path) -> None:
    for _ in range(2):
        found = finish(start(tmp_path, CHILDREN))
    assert found == ("[]", "")


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    for process in [start(tmp_path) for _ in range(3)]:
        assert finish(process)[1] == ""
    assert finish(start(tmp_path)) == ("[]", "")


def test_a_home_that_is_no_folder_gives_one_warning(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    _, errors = finish(start(tmp_path))
    assert errors.count("RuntimeWarning") == 1
    assert finish(start(tmp_path, LEND_CACHE="0"))[1] == ""
