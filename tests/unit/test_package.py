"""The package as a user installs it: a pure wheel, typed, light to import, of one version."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import lend

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    *("llvmlite", "ast", "dis", "inspect", "rich", "scipy", "matplotlib", "PIL", "argparse", "ctypes.util", "asyncio", "islpy"),
    *("lend.frontend", "lend.ir", "lend.lower", "lend.runtime.arguments"),
)


def imported_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `statement`, beyond those that NumPy and ctypes load anyway."""
    script = (
        f"import sys, numpy, ctypes\nbefore = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("the tests stand outside their source tree")
    out = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_wheel_is_pure(wheel: Path) -> None:
    assert wheel.name == f"lend-{lend.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = archive.read(f"lend-{lend.__version__}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: true" in about
    assert not [name for name in names if name.endswith((".so", ".dylib", ".pyd", ".o", ".a"))]


def test_wheel_holds_every_source_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    there = {
        path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    pages = {f"lend/cli/errors/{path.name}" for path in (ROOT / "docs" / "errors").glob("L*.md")}
    benchmarks = {
        f"lend/cli/carried/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "benchmarks").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == there | pages | benchmarks
    assert "lend/py.typed" in packed


def test_wheel_has_the_lend_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entry_points = archive.read(f"lend-{lend.__version__}.dist-info/entry_points.txt").decode()
    assert "lend = lend.cli:main" in entry_points


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert lend.__version__ == project["version"] == version("lend")


def test_import_loads_nothing_heavy() -> None:
    loaded = imported_after("import lend")
    assert "lend" in loaded
    heavy = {name for name in loaded if any(name == root or name.startswith(root + ".") for root in HEAVY)}
    assert not heavy


def test_import_adds_at_most_60_ms_to_numpy() -> None:
    clock = "time.process_time()"  # of this process alone, whatever else the machine does
    script = f"import time, numpy; start = {clock}; import lend; print({clock} - start)"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) <= 0.060


def test_names_loaded_at_first_use_can_be_listed_and_imported() -> None:
    script = "import lend; assert 'kernel' in dir(lend); from lend import *; assert kernel is lend.kernel; print(Kernel, Lowered)"
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    with pytest.raises(AttributeError, match="nothing"):
        _ = getattr(lend, "nothing")  # noqa: B009 (unknown to type checkers)


def test_decorating_a_kernel_loads_no_llvm() -> None:
    loaded = imported_after("import lend.cli.demo.kernels")
    assert "lend.cli.demo.kernels" in loaded
    assert not {name for name in loaded if name.partition(".")[0] == "llvmlite"}


def test_public_names_are_listed_once_and_exist() -> None:
    assert len(lend.__all__) == len(set(lend.__all__))
    assert not [name for name in lend.__all__ if not hasattr(lend, name)]
