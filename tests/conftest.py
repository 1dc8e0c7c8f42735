"""What all tests share: the target under test, settings that are put back, `--bless`, `--guarded`, `--beside`, …"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

# Tests test the compiler, in this process and in those that it starts; what is kept on disk has tests of its own.
os.environ["LEND_CACHE"] = "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes down what programs say now as what they must say; read the difference before committing it.

    `--guarded=end` and `--guarded=start`: see `guard.py`.
    """
    parser.addoption("--bless", action="store_true", help="rewrite expected messages in tests/ui and in the documents")
    sides = {"choices": ("end", "start"), "help": "lend arrays from memory whose end or start touches a page without access"}
    parser.addoption("--guarded", **sides)
    parser.addoption("--processor", help="generate code for a processor such as x86-64-v2, without what this one has beyond it")
    parser.addoption("--beside", action="store_true", help="with LEND_DEVICE: make each call on the processor too, and compare")
    parser.addoption("--kept", help="a folder: find compiled kernels there, and keep them there")


def pytest_configure(config: pytest.Config) -> None:
    """Expectations are never rewritten where nobody reads the difference."""
    if config.getoption("--bless") and os.environ.get("CI"):
        raise pytest.UsageError("--bless is for a person to run, not for CI")
    config.addinivalue_line("markers", "first_come(why): what comes out depends on who comes first; `--beside` skips it")
    kept = config.getoption("--kept")
    if kept:
        os.environ["LEND_CACHE"], os.environ["LEND_CACHE_DIR"] = "1", kept
    processor = config.getoption("--processor")
    if processor:
        _generate_for(processor)
    if config.getoption("--beside"):
        import beside

        both = beside.every_call()
        both.__enter__()
        config.add_cleanup(lambda: both.__exit__(None, None, None))
    side = config.getoption("--guarded")
    if side:
        import guard

        calls = guard.every_call(side, device_memory=os.environ.get("LEND_DEVICE", "").startswith("opencl"))
        calls.__enter__()
        config.add_cleanup(lambda: calls.__exit__(None, None, None))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Two runs of one kernel are not compared where each may give something else."""
    if config.getoption("--beside"):
        import beside

        beside.skip_first_come(items)


def _generate_for(processor: str) -> None:
    """Have LLVM say that this is the processor: before anything has asked."""
    import llvmlite.binding as llvm

    from lend.driver import environment
    from lend.targets.cpu import machine

    chosen, own = machine.named(processor), environment.identity
    environment.identity = lambda: f"{own()} as {processor}"  # for what is kept
    llvm.get_host_cpu_name = lambda: processor
    llvm.get_host_cpu_features = lambda: SimpleNamespace(flatten=lambda: chosen.features)
    machine.host.cache_clear()


@pytest.fixture(params=["cpu"])
def target(request: pytest.FixtureRequest) -> str:
    """The target that the kernels of `tests/run` run on."""
    return request.param


@pytest.fixture(autouse=True)
def _settings_are_put_back() -> Iterator[None]:
    lend = sys.modules.get("lend")
    if lend is None or not hasattr(lend, "config"):
        yield
        return
    before = lend.config.threads
    yield
    lend.config.threads = before
