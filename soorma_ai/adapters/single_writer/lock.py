"""One owner per SQLite file: the process with the right to write it, and its address for others' requests.

The lock is an flock on a small file next to the database, with the owner's data, and on systems with such locks (Linux)
one on the database itself, in case the small file is removed. Both fall with their process, at any end.
"""

import fcntl
import hashlib
import json
import os
import stat
import struct
import sys
import tempfile
import time
import weakref
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.records import Record

# The kernels allow 104 (BSD, macOS) or 108 bytes; the rest is room for the name it is bound under at first.
_LONGEST_SOCKET_PATH = 100
_MOST_LOOKS = 1000
_APART = "sock"
# Far behind the bytes that SQLite locks, and any that a file can have.
_GUARDED_BYTE = 2**62

# By inode, so that this process never opens and closes what it owns already.
_owned: "dict[tuple[int, int], OwnerInfo]" = {}


class OwnerInfo(Record, frozen=True):
    pid: int
    purpose: str
    socket: Path


class AlreadyOwned(ConfigError):
    """`info` is the owner."""

    code = "already_owned"

    def __init__(self, database: Path, info: OwnerInfo) -> None:
        if info.pid == os.getpid():
            owner = f"this process ({info.purpose}) already: use the platform that is open, or another file"
        else:
            who = f"process {info.pid}" if info.pid else "another process"
            owner = f"{who} ({info.purpose}): stop it, or use another file; `soorma` commands reach it by themselves"
        super().__init__(f"{database} is owned by {owner}")
        self.info = info


class OwnerLock(AbstractContextManager["OwnerLock"]):
    """Holds the lock of one database file until `release`, or until its process ends."""

    def __init__(self, descriptor: int, info: OwnerInfo, guard: int | None = None) -> None:
        self._descriptor: int | None = descriptor
        self._guard = guard
        self.info = info
        let_go = weakref.WeakMethod(self.let_go)
        os.register_at_fork(after_in_child=lambda: (inherited := let_go()) and inherited())

    @classmethod
    def take(cls, database: Path, *, purpose: str) -> Self:
        """Take the lock. Raise AlreadyOwned when another owner lives, ConfigError when there can be no lock here."""
        database = _real_path(database)
        descriptor = _open(database, os.O_RDWR | os.O_CREAT)
        guard = None
        try:
            if not _lock(descriptor, database):
                raise AlreadyOwned(database, _read(descriptor, database))
            info = OwnerInfo(os.getpid(), purpose, _socket_of(database))
            _make_private(info.socket.parent, database)
            guard = _guard(database, info)
            _write(descriptor, info, database)
        except BaseException:
            os.close(descriptor)
            if guard is not None:
                _owned.pop(_inode(guard), None)
                os.close(guard)
            raise
        return cls(descriptor, info, guard)

    def release(self) -> None:
        if self._descriptor is None:
            return
        with suppress(OSError):  # what is left there says nothing once the lock is gone
            os.ftruncate(self._descriptor, 0)
        if self.info.socket.name == _APART:
            with suppress(OSError):
                self.info.socket.parent.rmdir()
        self.let_go()

    def let_go(self) -> None:
        """Close this process's hold alone: a forked child that kept it would outlive its parent as the owner."""
        if self._guard is not None:
            _owned.pop(_inode(self._guard), None)
        for descriptor in (self._descriptor, self._guard):
            if descriptor is not None:
                os.close(descriptor)
        self._descriptor = self._guard = None

    def __exit__(self, *_: object) -> None:
        self.release()


def owner_of(database: Path) -> OwnerInfo | None:
    """Return the living owner, if there is one. A look does not hinder a new owner."""
    database = _real_path(database)
    try:
        descriptor = _open(database, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return None if _try(descriptor, fcntl.LOCK_SH, database) else _read(descriptor, database)
    finally:
        os.close(descriptor)


def _real_path(database: Path) -> Path:
    """Return the path that links and relative paths lead to, so that one file has one lock."""
    return Path(os.path.realpath(database))


def _open(database: Path, flags: int) -> int:
    """Return a descriptor. Raise ConfigError, and to a reader FileNotFoundError: no file, no owner."""
    path = database.with_name(f"{database.name}.owner")
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError as error:
        if not flags & os.O_CREAT:
            raise
        raise ConfigError(f"no database can be at {database}: its directory does not exist; make it first") from error
    except OSError as error:
        raise ConfigError(
            f"{path}, which says who owns the database, cannot be opened: {error.strerror}; "
            "give a database in a directory that this user may write to"
        ) from error
    if flags & os.O_CREAT and os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    return descriptor


def _lock(descriptor: int, database: Path) -> bool:
    """Return False when it has an owner. A process that only looks shares the lock for a moment, and is none."""
    for _ in range(_MOST_LOOKS):
        if _try(descriptor, fcntl.LOCK_EX, database):
            return True
        if not _try(descriptor, fcntl.LOCK_SH, database):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(0.001)
    return False


def _try(descriptor: int, kind: int, database: Path) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ConfigError(
            f"the file system of {database} has no locks ({error.strerror}): put the database on a local disk"
        ) from error
    return True


def _guard(database: Path, info: OwnerInfo) -> int | None:
    """Lock the database itself, and return the holder of that lock; None on a system without such locks, and for a file
    that cannot be opened; its store will report this. Raise AlreadyOwned.

    The lock belongs to the descriptor and not to the process, and touches none of the bytes that SQLite locks. To close
    any descriptor of the file drops the locks of SQLite in this process, so this is closed after the store.
    """
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        if (owner := _owned.get(_inode(database))) is not None:
            raise AlreadyOwned(database, owner)
    try:
        descriptor = os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _GUARDED_BYTE, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError as error:
        os.close(descriptor)
        removed = OwnerInfo(0, "whose .owner file somebody has removed", _socket_of(database))
        raise AlreadyOwned(database, removed) from error
    except OSError:  # a file system without such locks
        os.close(descriptor)
        return None
    _owned[_inode(descriptor)] = info
    return descriptor


def _inode(file: int | Path) -> tuple[int, int]:
    found = os.fstat(file) if isinstance(file, int) else file.stat()
    return found.st_dev, found.st_ino


def _write(descriptor: int, info: OwnerInfo, database: Path) -> None:
    content = json.dumps({"pid": info.pid, "purpose": info.purpose, "socket": str(info.socket)}).encode()
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)
    except OSError as error:
        raise ConfigError(
            f"{database}.owner, which says who owns the database, cannot be written: {error.strerror}; "
            "make room on its disk, or give a database on another"
        ) from error


def _read(descriptor: int, database: Path) -> OwnerInfo:
    """Return the owner's data; between its lock and its write there is nothing to read yet."""
    try:
        return TypeAdapter(OwnerInfo).validate_json(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    except ValidationError:
        return OwnerInfo(0, "just started", _socket_of(database))


def _socket_of(database: Path) -> Path:
    beside = database.with_name(f"{database.name}.sock")
    if len(os.fsencode(beside)) <= _LONGEST_SOCKET_PATH:
        return beside
    digest = hashlib.sha256(os.fsencode(database)).hexdigest()[:16]
    apart = Path(tempfile.gettempdir(), f"soorma-{os.geteuid()}-{digest}", _APART)
    if len(os.fsencode(apart)) > _LONGEST_SOCKET_PATH:
        raise ConfigError(
            f"neither {beside} nor {apart} is short enough for a socket ({_LONGEST_SOCKET_PATH} bytes): "
            "move the database, or set TMPDIR to a shorter path"
        )
    return apart


def _make_private(directory: Path, database: Path) -> None:
    """Make the directory. One that exists, where everybody may write, must be ours and closed to others."""
    if directory == database.parent:
        return
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(f"{directory} must be a directory of this user with mode 0700 for the socket: remove it")
