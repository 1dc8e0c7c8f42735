"""Settings: the environment, the program, and what is refused."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from lend.diagnostics.errors import DeviceError, LendError
from lend.runtime.settings import Config, available_processors


def test_defaults():
    settings = Config({}).snapshot()
    assert settings.device == "cpu" and settings.threads == available_processors() >= 1
    assert settings.cache and settings.dump == () and not settings.verify and settings.cache_dir.name == "lend"
    with pytest.raises(FrozenInstanceError):
        settings.threads = 3


def test_the_environment_is_read():
    environment = {
        "LEND_DEVICE": "auto",
        "LEND_THREADS": "3",
        "LEND_CACHE_DIR": "~/somewhere",
        "LEND_CACHE": "0",
        "LEND_DUMP": "parse, lower",
        "LEND_VERIFY": "1",
    }
    settings = Config(environment).snapshot()
    assert (settings.device, settings.threads, settings.cache) == ("auto", 3, False)
    assert settings.cache_dir == Path.home() / "somewhere" and settings.dump == ("parse", "lower") and settings.verify


def test_it_is_read_once_and_not_on_import():
    environment = {"LEND_THREADS": "3"}
    config = Config(environment)
    environment["LEND_THREADS"] = "4"
    assert config.threads == 4
    environment["LEND_THREADS"] = "5"
    assert config.threads == 4 and config.snapshot() is config.snapshot()
    config.reset()
    assert config.threads == 5


def test_an_empty_variable_is_as_good_as_none():
    assert Config({"LEND_THREADS": "", "LEND_DEVICE": ""}).snapshot() == Config({}).snapshot()


def test_the_program_wins():
    config = Config({"LEND_THREADS": "3"})
    before = config.snapshot()
    config.threads = 2
    assert config.threads == 2 and before.threads == 3
    config.cache_dir = "/tmp/x"
    assert config.snapshot().cache_dir == Path("/tmp/x")
    assert "threads=2" in repr(config) and "threads" in dir(config)


@pytest.mark.parametrize(
    ("variable", "value", "kind", "message"),
    [
        ("LEND_THREADS", "0", LendError, "LEND_THREADS is '0', and must be a whole number from 1 to 1024"),
        ("LEND_THREADS", "many", LendError, "LEND_THREADS is 'many', and must be a whole number from 1 to 1024"),
        ("LEND_THREADS", "2.5", LendError, "LEND_THREADS is '2.5', and must be a whole number from 1 to 1024"),
        ("LEND_THREADS", "-3", LendError, "LEND_THREADS is '-3', and must be a whole number from 1 to 1024"),
        ("LEND_ELEMENTS", "3", LendError, "LEND_ELEMENTS is '3', and must be 1, 2, 4, 8 or 16"),
        ("LEND_ELEMENTS", "all", LendError, "LEND_ELEMENTS is 'all', and must be 1, 2, 4, 8 or 16"),
        ("LEND_CACHE", "maybe", LendError, "LEND_CACHE is 'maybe', and must be 1 or 0"),
        (
            "LEND_DEVICE",
            "metal:0",
            DeviceError,
            "LEND_DEVICE is 'metal:0', and devices are called cpu, opencl:0, cuda:0, hip:0, … (or auto, which chooses one)",
        ),
    ],
)
def test_wrong_values_in_the_environment(variable, value, kind, message):
    with pytest.raises(kind) as caught:
        Config({variable: value}).snapshot()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threads", 0, "lend.config.threads is 0, and must be a whole number from 1 to 1024"),
        ("threads", True, "lend.config.threads is True, and must be a whole number from 1 to 1024"),
        ("threads", 1.5, "lend.config.threads is 1.5, and must be a whole number from 1 to 1024"),
        ("elements", True, "lend.config.elements is True, and must be 1, 2, 4, 8 or 16"),
        ("elements", 32, "lend.config.elements is 32, and must be 1, 2, 4, 8 or 16"),
        ("cache_dir", 3, "lend.config.cache_dir is 3, and must be a folder's name"),
        ("cache", 1.5, "lend.config.cache is 1.5, and must be 1 or 0"),
        ("dump", 3, "lend.config.dump is 3, and must be names separated by commas"),
    ],
)
def test_wrong_values_in_the_program(name, value, message):
    config = Config({})
    with pytest.raises(LendError) as caught:
        setattr(config, name, value)
    assert str(caught.value) == message
    assert config.snapshot() == Config({}).snapshot()


def test_a_setting_that_does_not_exist():
    config = Config({})
    known = "device, threads, cache_dir, cache, cache_limit, dump, verify, native, elements"
    message = f"lend.config has no setting 'thread'; it has {known}"
    with pytest.raises(AttributeError) as caught:
        config.thread = 3
    assert str(caught.value) == message
    with pytest.raises(AttributeError) as caught:
        config.thread
    assert str(caught.value) == message


def test_processors_are_those_of_this_process():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)
