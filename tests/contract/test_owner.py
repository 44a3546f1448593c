import fcntl
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from soorma_ai.adapters.single_writer.lock import AlreadyOwned, OwnerLock, owner_of
from soorma_ai.errors import ConfigError

TAKE_AND_STAY = """
import sys
from pathlib import Path
from soorma_ai.adapters.single_writer.lock import OwnerLock

owner = OwnerLock.take(Path(sys.argv[1]), purpose="soorma run orders.py")
print("taken", flush=True)
sys.stdin.read()
"""

TAKE_AND_FORK = """
import os, sys
from pathlib import Path
from soorma_ai.adapters.single_writer.lock import OwnerLock

owner = OwnerLock.take(Path(sys.argv[1]), purpose="parent")
child = os.fork()
if child == 0:
    owner.release()
    print("forked", os.getpid(), flush=True)
sys.stdin.read()
"""


locks_of_files = pytest.mark.skipif(sys.platform != "linux", reason="only Linux locks a database itself")


@contextmanager
def another_process(program: str, database: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program in another process; give it and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A file so deep that its socket's path would be too long."""
    folder = tmp_path / ("d" * 90)
    folder.mkdir()
    return folder / "orders.db"


def test_the_refusal_names_the_owner_of_the_file_and_the_cure(database: Path) -> None:
    with another_process(TAKE_AND_STAY, database) as (process, _), pytest.raises(AlreadyOwned) as refused:
        OwnerLock.take(database, purpose="soorma run billing.py")
    message = str(refused.value)
    assert isinstance(refused.value, ConfigError)
    assert refused.value.info.pid == process.pid
    assert refused.value.info.purpose == "soorma run orders.py"
    assert str(database) in message
    assert f"process {process.pid} (soorma run orders.py)" in message
    assert "stop it, or use another file" in message
    assert "`soorma` commands reach it" in message


def test_a_release_frees_the_file_and_a_second_release_changes_nothing(database: Path) -> None:
    with OwnerLock.take(database, purpose="first") as first:
        assert owner_of(database) == first.info
    assert owner_of(database) is None
    with OwnerLock.take(database, purpose="second") as second:
        first.release()
        assert owner_of(database) == second.info


def test_the_lock_falls_with_a_killed_process(database: Path) -> None:
    with another_process(TAKE_AND_STAY, database) as (process, _):
        found = owner_of(database)
        assert found and found.pid == process.pid
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert owner_of(database) is None
        OwnerLock.take(database, purpose="next").release()


def test_a_forked_child_neither_keeps_nor_drops_the_lock_of_its_parent(database: Path) -> None:
    with another_process(TAKE_AND_FORK, database) as (process, said):
        child = int(said.removeprefix("forked "))
        try:
            found = owner_of(database)
            assert found and found.pid == process.pid, "the child's release dropped it"
            process.kill()
            process.wait()
            os.kill(child, 0)
            assert owner_of(database) is None, "the child kept it"
        finally:
            os.kill(child, signal.SIGKILL)


def remove_its_file(database: Path) -> None:
    database.with_name(f"{database.name}.owner").unlink()


@locks_of_files
def test_removing_the_lock_file_of_another_process_does_not_make_an_owner(database: Path) -> None:
    with another_process(TAKE_AND_STAY, database) as (process, _):
        remove_its_file(database)
        with pytest.raises(
            AlreadyOwned, match=r"another process \(whose \.owner file somebody has removed\)"
        ) as refused:
            OwnerLock.take(database, purpose="second")
        assert refused.value.info.socket == database.with_name(f"{database.name}.sock")
        process.kill()
        process.wait()
        OwnerLock.take(database, purpose="third").release()


@locks_of_files
def test_removing_the_lock_file_in_its_own_process_does_not_make_a_second_owner(database: Path) -> None:
    with OwnerLock.take(database, purpose="first"), closing(sqlite3.connect(database)) as store:
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("CREATE TABLE one (n)")
        for _ in range(2):
            remove_its_file(database)
            with pytest.raises(AlreadyOwned, match=r"this process \(first\) already"):
                OwnerLock.take(database, purpose="second")
        locks = Path("/proc/locks").read_text().splitlines()
        assert [line for line in locks if "POSIX" in line and f":{database.stat().st_ino} " in line], (
            "SQLite's own stay"
        )
    OwnerLock.take(database, purpose="third").release()


def test_a_never_owned_file_has_no_owner_and_a_look_leaves_no_trace(tmp_path: Path) -> None:
    assert owner_of(tmp_path / "orders.db") is None
    assert list(tmp_path.iterdir()) == []


def test_a_look_never_keeps_another_from_taking_the_file(database: Path) -> None:
    OwnerLock.take(database, purpose="made").release()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            owner_of(database)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(300):
            OwnerLock.take(database, purpose="again").release()
    finally:
        done.set()
        for looker in lookers:
            looker.join()


def test_a_link_and_a_relative_path_lead_to_the_same_owner(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database.touch()
    alias = database.with_name("alias.db")
    alias.symlink_to(database)
    monkeypatch.chdir(database.parent)
    with OwnerLock.take(Path("orders.db"), purpose="first"), pytest.raises(AlreadyOwned):
        OwnerLock.take(alias, purpose="second")


def test_the_lock_file_is_for_its_user_only_even_if_it_was_open_before(tmp_path: Path, database: Path) -> None:
    lock = tmp_path / "orders.db.owner"
    lock.touch()
    lock.chmod(0o666)
    with OwnerLock.take(database, purpose="first"):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_an_owner_with_a_half_written_file_is_an_owner(tmp_path: Path, database: Path) -> None:
    with OwnerLock.take(database, purpose="first") as owner:
        assert owner.info.socket == tmp_path / "orders.db.sock"
        (tmp_path / "orders.db.owner").write_text('{"pid": 1')
        found = owner_of(database)
        assert found and found.socket == owner.info.socket
        with pytest.raises(AlreadyOwned, match="just started"):
            OwnerLock.take(database, purpose="second")


def test_a_socket_of_a_too_long_path_has_a_private_directory(far: Path, short_temp: Path) -> None:
    with OwnerLock.take(far, purpose="first") as owner:
        found = owner_of(far)
        assert found and found.socket == owner.info.socket
        assert len(os.fsencode(owner.info.socket)) <= 100
        private = owner.info.socket.parent
        assert private.parent == short_temp
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert not private.exists()
    with OwnerLock.take(far, purpose="again") as owner:
        assert owner.info.socket.parent == private
    private.mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="mode 0700"):
        OwnerLock.take(far, purpose="where others can enter")
    assert owner_of(far) is None


def test_a_missing_directory_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="directory does not exist"):
        OwnerLock.take(tmp_path / "nowhere" / "orders.db", purpose="first")


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep")
    (tmp_path / "orders.db.owner").symlink_to(precious)
    with pytest.raises(ConfigError, match="cannot be opened"):
        OwnerLock.take(tmp_path / "orders.db", purpose="first")
    assert precious.read_text() == "keep"


@pytest.fixture
def short_temp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files, as a machine has it: short."""
    with tempfile.TemporaryDirectory(prefix="o") as made:
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


@contextmanager
def no_room_for_a_byte() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_a_config_error_and_leaves_no_owner(database: Path) -> None:
    with no_room_for_a_byte(), pytest.raises(ConfigError, match=r"orders\.db\.owner.*cannot be written"):
        OwnerLock.take(database, purpose="first")
    assert owner_of(database) is None
    OwnerLock.take(database, purpose="second").release()


def test_a_release_works_on_a_full_disk(database: Path) -> None:
    taken = OwnerLock.take(database, purpose="first")
    lock = database.with_name("orders.db.owner")
    taken.let_go()
    unwritable = os.open(lock, os.O_RDONLY)
    fcntl.flock(unwritable, fcntl.LOCK_EX)
    OwnerLock(unwritable, taken.info).release()
    assert owner_of(database) is None
