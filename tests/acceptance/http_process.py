"""`soorma serve` as a process of its own, on a free port."""

import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli_kit import APPS, SOORMA, Shop

_URL = re.compile(r"http://\S+:\d+")


@dataclass(frozen=True)
class ServerProcess:
    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def start_server(
    store: Path, *options: str, app: str = "orders:agents", folder: Path = APPS, files: int | None = None
) -> Generator[ServerProcess]:
    """Run until the block ends; the block begins with the first accepted call. `files` is the limit of open files."""
    told: list[str] = []
    command = (*SOORMA, "serve", app, "--port", "0", *options)
    if files is not None:
        command = ("sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command)
    with Shop(store).background(*command, ready="Ctrl-C to stop", told=told, folder=folder) as process:
        found = _URL.search("".join(told))
        assert found, told
        yield ServerProcess(process, found[0])
