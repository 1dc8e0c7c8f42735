"""Files of compiled kernels: one per key, in a folder of the user's own.

Does: find and save bytes by key, keep the folder below a size, list and clear it.  Does not: know what the bytes mean.
Invariants: what is found is what was saved under that key, whole: every file has a checksum, and appears under its name at once
(`os.replace`), so that other processes, killed ones and full disks can do no harm. Nothing is read that another user could have
written: machine code comes of it. Nothing here raises: where the folder cannot be used, nothing is found and nothing kept, and
one warning says so.

Least recently used files go first, by their time of change, which finding a file renews.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL
except ImportError:
    from hashlib import blake2b

MAGIC = b"lend 1\r\n\x00"
"""The first bytes of every file."""

FOLDER = "lend-1"
"""Inside the folder that the user names, which may be shared: a folder of ours, for the format of this version."""

SUFFIX = ".kernel"

DIGEST = 20
"""Bytes of a digest: keys and checksums."""

RENEW = 3600.0
"""A file that was used so many seconds ago, or earlier, is marked as used again."""

ABANDONED = 3600.0
"""Half-written files of processes that died are removed after so many seconds."""

MEASURED = "measured"
"""A file whose time says when the folder was measured last, by any process."""

MEASURE = 600.0
"""It is measured again after so many seconds, or when one process has saved a part of the limit."""

LEVEL = 0.75
"""A folder that is too large is reduced to this part of its limit."""


class Entry(NamedTuple):
    """A file, when it was used, and its size."""

    path: str
    used: float
    size: int


def digest(data: bytes) -> bytes:
    """A checksum that nobody can bring about on purpose."""
    return blake2b(data, digest_size=DIGEST).digest()


class Store:
    """The files in `folder`, of at most `limit` bytes together."""

    def __init__(self, folder: str, limit: int) -> None:
        self.folder = os.path.join(folder, FOLDER)
        self.limit = limit
        self._usable: bool | None = None  # not looked at yet
        self._unwritable = False
        self._saved = 0  # bytes since this process has measured the folder

    # ------------------------------------------------------------------------------------------------------------- using

    def find(self, key: bytes) -> bytes | None:
        """What was saved under `key`; None if there is nothing, or nothing to be trusted."""
        if not self._is_usable():
            return None
        path = self._path(key)
        try:
            content = _read(path)
        except OSError:
            return None
        head = len(MAGIC) + DIGEST
        if content is None or content[: len(MAGIC)] != MAGIC or content[len(MAGIC) : head] != digest(key + content[head:]):
            self._remove(path)
            return None
        return content[head:]

    def save(self, key: bytes, data: bytes) -> None:
        """Keep `data` under `key`, whatever stood there."""
        if self._unwritable or not self._is_usable(create=True) or len(data) > self.limit // 4:
            return
        temporary = f"{self._path(key)}.{os.getpid():x}-{next(_COUNT):x}-{os.urandom(4).hex()}"
        content = MAGIC + digest(key + data) + data
        try:
            _write(temporary, content)
            os.replace(temporary, self._path(key))
        except OSError as error:
            self._remove(temporary)
            self._unwritable = True
            _warn(f"lend cannot keep compiled kernels in {self.folder}: {error.strerror or error}")
            return
        self._saved += len(content)
        if self._saved > self.limit // 16 or self._is_due():
            self.evict()

    # ---------------------------------------------------------------------------------------------------------- the folder

    def entries(self) -> list[Entry]:
        """All files, the least recently used first."""
        return sorted(self._files(), key=lambda entry: (entry.used, entry.path))

    def evict(self) -> int:
        """Remove the least recently used files if there are too many, and what processes that died left; gives the bytes."""
        self._saved = 0
        with contextlib.suppress(OSError):
            os.close(os.open(os.path.join(self.folder, MEASURED), os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(os.path.join(self.folder, MEASURED))
        files, removed, now = self.entries(), 0, time.time()
        for entry in files:
            if not entry.path.endswith(SUFFIX) and entry.used < now - ABANDONED:
                removed += self._remove(entry.path) * entry.size
        kept = [entry for entry in files if entry.path.endswith(SUFFIX)]
        total = sum(entry.size for entry in kept)
        if total <= self.limit:
            return removed
        for entry in kept:
            if total <= self.limit * LEVEL:
                break
            total -= entry.size
            removed += self._remove(entry.path) * entry.size
        return removed

    def clear(self) -> int:
        """Remove all files; gives how many."""
        return sum(self._remove(entry.path) for entry in self.entries())

    def _files(self) -> Iterator[Entry]:
        if not self._is_usable():
            return
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for file in found:
                with contextlib.suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and SUFFIX in file.name:
                        yield Entry(file.path, status.st_mtime, status.st_size)

    def _is_due(self) -> bool:
        """Whether nobody has measured the folder for a while."""
        try:
            return os.stat(os.path.join(self.folder, MEASURED)).st_mtime < time.time() - MEASURE
        except OSError:
            return True

    def _path(self, key: bytes) -> str:
        return os.path.join(self.folder, key.hex() + SUFFIX)

    def _remove(self, path: str) -> bool:
        try:
            os.unlink(path)
        except OSError:
            return False
        return True

    def _is_usable(self, create: bool = False) -> bool:
        """Whether the folder is there and nobody else can write into it."""
        if self._usable is None:
            try:
                if create:
                    os.makedirs(self.folder, mode=0o700, exist_ok=True)
                status = os.lstat(self.folder)
            except OSError as error:
                if create:  # else another process, or the first `save`, may make it yet
                    self._usable = False
                    _warn(f"lend cannot keep compiled kernels in {self.folder}: {error.strerror or error}")
                return False
            self._usable = stat.S_ISDIR(status.st_mode) and _is_ours(status)
            if not self._usable:
                _warn(f"lend does not use {self.folder}, because it is not a folder that you alone can write to")
        return self._usable


_COUNT = itertools.count()
_warned = False


def _read(path: str) -> bytes | None:
    """A file's content; None if it is not ours alone. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
            return None
        if status.st_mtime < time.time() - RENEW:
            with contextlib.suppress(OSError):
                os.utime(path)
        parts: list[bytes] = []
        while part := os.read(descriptor, max(status.st_size + 1, 1 << 16)):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _is_ours(status: os.stat_result) -> bool:
    """Whether only this user can have written it."""
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _warn(message: str) -> None:
    """Say it once in a process; even where warnings are errors, it is none."""
    global _warned
    if not _warned:
        _warned = True
        with contextlib.suppress(Warning):
            warnings.warn(f"{message} (LEND_CACHE=0 turns this off)", RuntimeWarning, stacklevel=2)
