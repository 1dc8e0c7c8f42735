"""Files by key: whole or not at all, the user's own only, no more than allowed, never an error."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from lend.runtime import store as stores
from lend.runtime.store import SUFFIX, Store

MEGABYTE = 1 << 20
KEY, OTHER = b"\x01" * 20, b"\x02" * 20

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and permissions")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "cache"), MEGABYTE)


@pytest.fixture(autouse=True)
def _warnings_are_new(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stores, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def files(store: Store) -> list[Path]:
    return sorted(path for path in Path(store.folder).iterdir() if SUFFIX in path.name)


# ----------------------------------------------------------------------------------------------------- finding and saving


def test_what_is_saved_is_found(store: Store) -> None:
    assert store.find(KEY) is None
    store.save(KEY, b"code")
    store.save(OTHER, b"")
    assert store.find(KEY) == b"code"
    assert store.find(OTHER) == b""
    assert Store(str(Path(store.folder).parent), MEGABYTE).find(KEY) == b"code"


def test_the_last_one_saved_counts(store: Store) -> None:
    store.save(KEY, b"old")
    store.save(KEY, b"new")
    assert store.find(KEY) == b"new"
    assert len(files(store)) == 1


@posix
def test_nobody_else_can_read_or_write(store: Store) -> None:
    store.save(KEY, b"code")
    assert Path(store.folder).stat().st_mode & 0o777 == 0o700
    assert files(store)[0].stat().st_mode & 0o777 == 0o600


# ----------------------------------------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "longer", "first", "other"])
def test_a_damaged_file_is_not_used_and_goes(store: Store, damage: str) -> None:
    store.save(KEY, b"machine code " * 100)
    (file,) = files(store)
    content = bytearray(file.read_bytes())
    match damage:
        case "cut":
            content = content[:-1]
        case "empty":
            content = bytearray()
        case "changed":
            content[-5] ^= 1
        case "longer":
            content += b"x"
        case "first":
            content[0] ^= 1
        case _:
            content = bytearray(b"something else")
    file.write_bytes(content)
    assert store.find(KEY) is None
    assert not file.exists()
    store.save(KEY, b"again")
    assert store.find(KEY) == b"again"


def test_a_file_under_another_name_is_not_used(store: Store) -> None:
    """As if somebody had renamed one: the key is part of the checksum."""
    store.save(KEY, b"code")
    (file,) = files(store)
    file.rename(file.with_name(OTHER.hex() + SUFFIX))
    assert store.find(OTHER) is None


def test_a_folder_in_a_files_place_is_not_used(store: Store) -> None:
    store.save(OTHER, b"code")
    (Path(store.folder) / (KEY.hex() + SUFFIX)).mkdir()
    assert store.find(KEY) is None
    with pytest.raises(RuntimeWarning):
        warn_of(store)
    assert store.find(OTHER) == b"code"


def warn_of(store: Store) -> None:
    """Save, with the warning that this store cannot: even where warnings are errors, `save` itself raises none."""
    caught: list[str] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        store.save(KEY, b"code")
        store.save(KEY, b"code")
    caught += [str(warning.message) for warning in seen]
    if caught:
        assert len(caught) == 1 and "LEND_CACHE=0" in caught[0]
        raise RuntimeWarning(caught[0])


# ------------------------------------------------------------------------------------------------------ folders and disks


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """As in a home that is read only (which the superuser can write to, so that permissions would not test it)."""
    (tmp_path / "file").write_text("not a folder")
    store = Store(str(tmp_path / "file"), MEGABYTE)
    assert store.find(KEY) is None
    with pytest.raises(RuntimeWarning, match="cannot keep compiled kernels"):
        warn_of(Store(str(tmp_path / "file"), MEGABYTE))
    store.save(KEY, b"code")
    assert store.find(KEY) is None and store.entries() == [] and store.clear() == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_still_read(store: Store) -> None:
    store.save(KEY, b"code")
    os.chmod(store.folder, 0o500)
    again = Store(str(Path(store.folder).parent), MEGABYTE)
    assert again.find(KEY) == b"code"
    with pytest.raises(RuntimeWarning):
        warn_of(again)
    os.chmod(store.folder, 0o700)


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES])
def test_a_read_only_disk_is_done_without(store: Store, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    store.save(OTHER, b"code")

    def refuse(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(stores, "_write", refuse)
    with pytest.raises(RuntimeWarning, match=os.strerror(error)):
        warn_of(store)
    assert store.find(OTHER) == b"code"


def test_a_full_disk_leaves_nothing_half_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    written: list[int] = []

    def fill(descriptor: int, data: memoryview) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(write(descriptor, data[:10]))
        return written[0]

    store.save(OTHER, b"code")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fill)
        with pytest.raises(RuntimeWarning, match="No space left"):
            warn_of(store)
    assert [file.name for file in files(store)] == [OTHER.hex() + SUFFIX]
    assert store.find(KEY) is None


def test_a_warning_that_is_an_error_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    Store(str(tmp_path / "file"), MEGABYTE).save(KEY, b"code")  # `_warnings_are_new` makes errors of warnings


# ------------------------------------------------------------------------------------------------------------- other users


@posix
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_can_write_is_not_used(store: Store, mode: int) -> None:
    store.save(KEY, b"code")
    files(store)[0].chmod(mode)
    assert store.find(KEY) is None


@posix
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(store: Store, mode: int) -> None:
    store.save(KEY, b"code")
    os.chmod(store.folder, mode)
    shared = Store(str(Path(store.folder).parent), MEGABYTE)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert shared.find(KEY) is None
        shared.save(OTHER, b"code")
    assert "you alone" in str(seen[0].message) and len(seen) == 1
    assert len(files(store)) == 1


@posix
def test_the_folder_may_lie_in_one_that_all_can_write_to(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    store = Store(str(shared), MEGABYTE)
    store.save(KEY, b"code")
    assert store.find(KEY) == b"code"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs a file of another user's")
def test_a_file_of_another_user_is_not_used(store: Store) -> None:
    store.save(KEY, b"code")
    os.chown(files(store)[0], 12345, 12345)
    assert store.find(KEY) is None


@posix
def test_a_link_to_a_file_is_not_followed(store: Store, tmp_path: Path) -> None:
    store.save(KEY, b"code")
    (file,) = files(store)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store.find(KEY) is None


# ----------------------------------------------------------------------------------------------------------- several at once

KILLED = """
import os, signal, sys
from lend.runtime.store import Store
import lend.runtime.store as stores
if sys.argv[2] == "written":
    stores.os = type("os", (), {**vars(os), "replace": staticmethod(lambda *_: os.kill(os.getpid(), signal.SIGKILL))})
else:
    def write(descriptor, data):
        os.write(descriptor, data[:30])
        os.kill(os.getpid(), signal.SIGKILL)
    stores.os = type("os", (), {**vars(os), "write": staticmethod(write)})
Store(sys.argv[1], 1 << 20).save(bytes([1] * 20), b"code" * 100)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("when", ["writing", "written"])
def test_a_process_that_is_killed_while_it_writes_does_no_harm(store: Store, when: str) -> None:
    folder = str(Path(store.folder).parent)
    done = subprocess.run([sys.executable, "-c", KILLED, folder, when], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(files(store)) == 1  # what it left
    assert store.find(KEY) is None
    store.save(KEY, b"whole")
    assert store.find(KEY) == b"whole"
    (rest,) = [file for file in files(store) if not file.name.endswith(SUFFIX)]
    os.utime(rest, (time.time() - 7200,) * 2)
    store.evict()
    assert not rest.exists() and store.find(KEY) == b"whole"


def test_threads_that_save_and_find_at_once_see_whole_files(store: Store) -> None:
    versions = [bytes([k]) * (1000 + k) for k in range(8)]
    wrong: list[bytes] = []

    def work(version: bytes) -> None:
        own = Store(str(Path(store.folder).parent), MEGABYTE)
        for _ in range(50):
            own.save(KEY, version)
            found = own.find(KEY)
            if found not in versions:
                wrong.append(found or b"")

    threads = [threading.Thread(target=work, args=(version,)) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(files(store)) == 1


# ---------------------------------------------------------------------------------------------------------------- the limit


def saved(store: Store, count: int, size: int) -> list[bytes]:
    """So many entries, the first used longest ago."""
    keys = [bytes([9, k]) * 10 for k in range(count)]
    for k, key in enumerate(keys):
        store.save(key, b"x" * size)
        path = Path(store.folder) / (key.hex() + SUFFIX)
        if path.exists():
            os.utime(path, (time.time() - 1000 + k,) * 2)
    return keys


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    store = Store(str(tmp_path), 100_000)
    keys = saved(store, 9, 10_000)
    store.limit = 50_000
    store.evict()
    assert [store.find(key) is not None for key in keys] == [False] * 6 + [True] * 3


def test_finding_a_file_renews_it(tmp_path: Path) -> None:
    store = Store(str(tmp_path), 100_000)
    keys = saved(store, 9, 10_000)
    for key in keys:
        os.utime(Path(store.folder) / (key.hex() + SUFFIX), (1e9, 1e9))
    assert store.find(keys[0]) is not None
    store.limit = 50_000
    store.evict()
    assert store.find(keys[0]) is not None


def test_a_folder_never_grows_far_beyond_its_limit(tmp_path: Path) -> None:
    store = Store(str(tmp_path), 100_000)
    for k in range(200):
        store.save(bytes([k]) * 20, b"x" * 5_000)
        assert sum(entry.size for entry in store.entries()) < 115_000
    assert store.find(bytes([199]) * 20) is not None


def test_many_processes_that_save_little_keep_the_limit_too(tmp_path: Path) -> None:
    for k in range(60):
        Store(str(tmp_path), 100_000).save(bytes([k]) * 20, b"x" * 5_000)
    measured = tmp_path / "lend-1" / "measured"
    os.utime(measured, (time.time() - 3600,) * 2)
    Store(str(tmp_path), 100_000).save(KEY, b"x" * 5_000)
    store = Store(str(tmp_path), 100_000)
    assert sum(entry.size for entry in store.entries()) < 100_000
    assert measured.stat().st_mtime > time.time() - 1000


def test_something_too_large_is_not_kept(tmp_path: Path) -> None:
    store = Store(str(tmp_path), 100_000)
    store.save(KEY, b"x" * 50_000)
    assert store.find(KEY) is None


def test_clearing_removes_files_of_ours_alone(store: Store) -> None:
    store.save(KEY, b"code")
    store.save(OTHER, b"code")
    stranger = Path(store.folder) / "notes.txt"
    stranger.write_text("mine")
    assert store.clear() == 2
    assert store.find(KEY) is None and stranger.exists()
