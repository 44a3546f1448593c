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
class Served:
    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def serving(
    store: Path, *options: str, app: str = "orders:agents", folder: Path = APPS, files: int | None = None
) -> Generator[Served]:
    """Runs until the block ends, which begins when calls are taken. The process may have so many files open."""
    told: list[str] = []
    command = (*SOORMA, "serve", app, "--port", "0", *options)
    if files is not None:
        command = ("sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command)
    with Shop(store).background(*command, ready="Ctrl-C to stop", told=told, folder=folder) as process:
        found = _URL.search("".join(told))
        assert found, told
        yield Served(process, found[0])
