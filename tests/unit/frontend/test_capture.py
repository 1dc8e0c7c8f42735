from __future__ import annotations

import ast
import importlib.util
import linecache
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from lend.diagnostics.errors import ArgumentError, CompileError
from lend.frontend.capture import Captured, capture

SCALE = 2.0


def load(path: Path, text: str) -> ModuleType:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(code: str, *options: str, stdin: bool = False) -> str:
    """The output of a fresh Python that runs `code`."""
    arguments = [sys.executable, *options] + (["-"] if stdin else ["-c", code])
    done = subprocess.run(arguments, input=code if stdin else None, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_of(captured: Captured) -> str:
    """The definition as written, cut out of the whole file."""
    found = ast.get_source_segment(captured.source.text, captured.node)
    assert found is not None
    return found


def refused(function: Any) -> str:
    with pytest.raises(CompileError) as caught:
        capture(function)
    [diagnostic] = caught.value.diagnostics
    return f"{diagnostic.code} {diagnostic.message}"


def same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def test_a_function_of_a_module_has_its_whole_file_and_its_place() -> None:
    captured = capture(load)
    assert captured.source.filename == __file__
    assert captured.source.text == Path(__file__).read_text(encoding="utf-8")
    assert captured.source.line(captured.node.lineno).startswith("def load(")
    assert captured.identity == (__name__, "load")
    assert captured.name == "load"


def test_decorators_shift_nothing() -> None:
    @same
    @same
    def decorated(x):
        return x

    assert text_of(capture(decorated)).startswith("def decorated(x):")


def test_functions_of_one_name_are_told_apart_by_line() -> None:
    def twin(x):
        return x + 1

    first = twin

    def twin(x):  # noqa: F811
        return x + 2

    assert "x + 1" in text_of(capture(first))
    assert "x + 2" in text_of(capture(twin))


def test_closures_globals_and_builtins_are_read_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = 1.0

    def inner(x):
        return x * factor * SCALE  # noqa: F821

    captured = capture(inner)
    assert captured.resolve("factor") == (True, 1.0)
    factor = 3.0
    assert captured.resolve("factor") == (True, 3.0)
    assert captured.resolve("SCALE") == (True, 2.0)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert captured.resolve("SCALE") == (True, 5.0)
    assert captured.resolve("abs") == (True, abs)
    assert captured.resolve("x") == (False, None)
    assert captured.resolve("nowhere") == (False, None)
    del factor
    assert captured.resolve("factor") == (False, None)


def test_a_global_hides_a_builtin(tmp_path: Path) -> None:
    module = load(tmp_path / "hides.py", "def abs(x): return x\ndef f(x): return abs(x)\n")
    assert capture(module.f).resolve("abs") == (True, module.abs)


def test_defaults_by_name() -> None:
    def f(a, b=1, /, c=2, *, d, e=3):
        return a

    assert capture(f).defaults == {"b": 1, "c": 2, "e": 3}


def test_indented_and_tabbed_definitions_keep_their_columns(tmp_path: Path) -> None:
    module = load(tmp_path / "tabbed.py", "if True:\n\tif True:\n\t\tdef f(x):\n\t\t\treturn x\n")
    captured = capture(module.f)
    assert (captured.node.lineno, captured.node.col_offset) == (3, 2)


def test_lambdas_on_one_line_are_told_apart() -> None:
    one, two, three = (lambda x: x + 1), (lambda x: x + 2), (lambda x: lambda y: x + y)
    assert [text_of(capture(f)) for f in (one, two, three, three(1))] == [
        "lambda x: x + 1",
        "lambda x: x + 2",
        "lambda x: lambda y: x + y",
        "lambda y: x + y",
    ]


def test_lambdas_in_calls_defaults_and_conditionals() -> None:
    pair = [lambda x, y=(lambda z: z): x if x else y, lambda x, y=(lambda w: -w): x or y]
    assert text_of(capture(pair[0])) == "lambda x, y=(lambda z: z): x if x else y"
    assert text_of(capture(pair[1])) == "lambda x, y=(lambda w: -w): x or y"
    assert text_of(capture(pair[0].__defaults__[0])) == "lambda z: z"
    assert text_of(capture(pair[1].__defaults__[0])) == "lambda w: -w"


def test_a_lambda_of_several_lines() -> None:
    functions = [lambda x: (
        x + 1), lambda x: (
        x + 2)]  # fmt: skip
    assert "x + 1" in text_of(capture(functions[0]))
    assert "x + 2" in text_of(capture(functions[1]))


def test_lambdas_are_told_apart_by_bytecode_where_columns_are_missing(tmp_path: Path) -> None:
    (tmp_path / "lambdas.py").write_text(
        "from __future__ import annotations\n"
        "k = 3\n"
        "fs = [lambda x: x + 1, lambda x: x + 2, lambda x: x + k, lambda x: lambda y: x + y + 4, lambda x: lambda y: x + y + 5]\n"
    )
    code = (
        f"import ast, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from lambdas import fs\n"
        "from lend.frontend.capture import capture\n"
        "for f in [*fs, fs[4](1)]: print(ast.unparse(capture(f).node))\n"
    )
    assert run(code, "-X", "no_debug_ranges", "-B").splitlines() == [
        "lambda x: x + 1",
        "lambda x: x + 2",
        "lambda x: x + k",
        "lambda x: lambda y: x + y + 4",
        "lambda x: lambda y: x + y + 5",
        "lambda y: x + y + 5",
    ]


class Holder:
    def method(self, x):
        return x

    if SCALE:

        def conditional(self, x):
            return x

    @staticmethod
    def static(x):
        return x


def test_methods_are_refused_and_static_methods_are_not() -> None:
    assert refused(Holder.method) == "L0103 `method` is a method of the class `Holder`, and kernels are plain functions"
    assert refused(Holder.conditional).startswith("L0103")
    assert capture(Holder.static).qualname == "Holder.static"


def test_functions_inside_methods_are_fine() -> None:
    class Local:
        def make(self) -> FunctionType:
            def inner(x):
                return x

            return inner

    assert capture(Local().make()).name == "inner"


@pytest.mark.parametrize("thing", [3, int, len, Holder().method, same.__call__])
def test_what_is_no_function_is_refused(thing: object) -> None:
    with pytest.raises(ArgumentError, match="written with `def` or `lambda`"):
        capture(thing)  # type: ignore[arg-type]


def test_exec_without_source_says_what_to_do() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", space)
    with pytest.raises(CompileError, match="save the kernel in a file") as caught:
        capture(space["f"])
    assert caught.value.diagnostics[0].code == "L0101"


def test_exec_with_a_linecache_entry() -> None:
    text = "scale = 3\ndef f(x):\n    return x * scale\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    space: dict[str, Any] = {}
    exec(compile(text, "<cell 1>", "exec"), space)
    try:
        captured = capture(space["f"])
    finally:
        del linecache.cache["<cell 1>"]
    assert captured.source.filename == "<cell 1>"
    assert captured.node.lineno == 2
    assert captured.resolve("scale") == (True, 3)


@pytest.mark.parametrize(
    "edited",
    [
        "\n\ndef f(x):\n    return x\n",
        "def g(x):\n    return x\n",
        "def f(y):\n    return y\n",
        "def f(x): return x\n",
        "def f(x:\n",
        "x = 1\n",
    ],
)
def test_a_file_edited_after_its_import_is_noticed(tmp_path: Path, edited: str) -> None:
    path = tmp_path / "edited.py"
    module = load(path, "def f(x):\n    return x\n")
    capture(module.f)
    path.write_text(edited, encoding="utf-8")
    os.utime(path, (1, 1))
    assert refused(module.f).startswith("L0102 the file has changed since `f` was loaded")


def test_an_edit_below_the_function_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "grown.py"
    module = load(path, "def f(x):\n    return x\n")
    path.write_text("def f(x):\n    return x\n\n\ndef g(x):\n    return x\n", encoding="utf-8")
    os.utime(path, (1, 1))
    assert capture(module.f).source.text.endswith("def g(x):\n    return x\n")


def test_functions_of_one_file_share_its_source(tmp_path: Path) -> None:
    module = load(tmp_path / "shared.py", "def f(x): return x\ndef g(x): return x\n")
    assert capture(module.f).source is capture(module.g).source


def test_main_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from lend.frontend.capture import capture\ndef f(x): return x\nprint(capture(f).identity, capture(f).node.lineno)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "('__main__', 'f') 2\n"


NO_SOURCE = """
from lend.frontend.capture import capture
from lend.diagnostics.errors import CompileError
def f(x): return x
try:
    print(capture(f).node.lineno)
except CompileError as error:
    print(error.diagnostics[0].code)
"""


def test_standard_input_has_no_source() -> None:
    assert run(NO_SOURCE, stdin=True) in ("L0101\n", "4\n")  # later Pythons keep it


def test_command_line_code_has_a_source_only_in_later_pythons() -> None:
    assert run(NO_SOURCE) == ("L0101\n" if sys.version_info < (3, 13) else "4\n")


def test_doctests() -> None:
    import doctest

    text = ">>> from lend.frontend.capture import capture\n>>> def f(x): return x\n>>> capture(f).node.lineno\n1\n"
    test = doctest.DocTestParser().get_doctest(text, {}, "sample", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_ipython_cells() -> None:
    pytest.importorskip("IPython")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('from lend.frontend.capture import capture')\n"
        "shell.run_cell('def f(x):\\n    return x')\n"
        "shell.run_cell('def f(x):\\n    return x + 1')\n"
        "shell.run_cell('print(capture(f).source.text)')\n"
    )
    assert "return x + 1" in run(code)


def test_a_deeply_nested_file_is_an_error_with_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(source: object) -> None:
        raise RecursionError

    monkeypatch.setattr("lend.frontend.capture.parse_file", explode)
    assert refused(load).startswith("L0104")


def test_compile_errors_can_be_pickled() -> None:
    with pytest.raises(CompileError) as caught:
        capture(Holder.method)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
