"""The unchanged programs of the pages pass strict type checks."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import DOCS, PROJECT
from reading import Block, blocks

_IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def programs() -> list[Block]:
    """Return the whole programs, with installed libraries: a fragment imports nothing."""
    found = [one for page in (PROJECT / "README.md", *sorted(DOCS.rglob("*.md"))) for one in blocks(page)]
    python = [(one, _IMPORTED.findall(one.text)) for one in found if one.language == "python"]
    return [one for one, names in python if one.is_run and not one.file and names and all(map(find_spec, names))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("programs")
    for one in programs():
        name = re.sub(r"\W", "_", one.page)
        (made / f"{name}_{one.line}.py").write_text(one.text, encoding="utf-8")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(PROJECT)]}
    (made / "pyrightconfig.json").write_text(json.dumps(settings))
    return made


@pytest.mark.timeout(600)
def test_the_programs_of_the_pages_pass_pyright(folder: Path) -> None:
    command = (sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable)
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.timeout(600)
def test_the_programs_of_the_pages_and_the_template_pass_mypy(folder: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: `pip install mypy` for this test")
    options = ("--strict", "--scripts-are-modules", "--explicit-package-bases", f"--cache-dir={folder / 'cache'}")
    for place in (folder, PROJECT / "template"):
        command = (sys.executable, "-m", "mypy", *options, "--python-executable", sys.executable, ".")
        checked = subprocess.run(command, check=False, cwd=place, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
