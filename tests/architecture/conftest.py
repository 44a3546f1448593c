import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def tracked() -> Callable[[str], set[str]]:
    """Return a function from a folder to the paths of its tracked files, from the root of the project."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git repository here to list the files of the project")

    def files(folder: str) -> set[str]:
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", folder]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return set(listed.stdout.split("\0")) - {""}

    return files
