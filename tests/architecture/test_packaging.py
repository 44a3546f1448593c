"""The package as pip sees it: its extras, and its command."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def test_the_extra_all_has_every_other_extra() -> None:
    (line,) = EXTRAS["all"]
    found = re.fullmatch(r"soorma-ai\[([a-z0-9,]+)\]", line)
    assert found is not None and found[1].split(",") == sorted(EXTRAS.keys() - {"all"})


def test_the_installation_page_has_a_row_for_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z0-9]+)` \|", page, re.MULTILINE)) == EXTRAS.keys()


def test_the_module_is_the_command() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "soorma_ai", "--version"], check=True, capture_output=True, text=True
    ).stdout
    assert said == f"soorma, version {PROJECT['version']}\n"
