"""The package as pip sees it: its extras, and its command."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from soorma_ai.apps.cli.host import DEFAULT_PORT

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def test_the_extra_all_has_every_other_extra() -> None:
    (line,) = EXTRAS["all"]
    found = re.fullmatch(r"soorma-ai\[([a-z0-9,-]+)\]", line)
    assert found is not None and found[1].split(",") == sorted(EXTRAS.keys() - {"all"})


def test_the_installation_page_has_a_row_for_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)) == EXTRAS.keys()


def test_the_module_is_the_command() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "soorma_ai", "--version"], check=True, capture_output=True, text=True
    ).stdout
    assert said == f"soorma, version {PROJECT['version']}\n"


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    lines = [line for line in dockerfile.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def dockerfiles() -> dict[str, str]:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    found = re.findall(r"^```dockerfile\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    own = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return {"Dockerfile": own, **{f"deploy.md, {number}": text for number, text in enumerate(found)}}


@pytest.mark.parametrize("text", dockerfiles().values(), ids=dockerfiles())
def test_an_image_has_a_known_python_known_extras_no_root_and_the_command(text: str) -> None:
    said = instructions(text)
    versions = {found[1] for _, rest in said if (found := re.match(r"python:(3\.\d+)-slim", rest))}
    assert {f"Programming Language :: Python :: {version}" for version in versions} < set(PROJECT["classifiers"])
    extras = [found for _, rest in said for found in re.findall(r"\[([a-z0-9,-]+)\]", rest) if "pip install" in rest]
    assert [set(one.split(",")) - EXTRAS.keys() for one in extras] == [set()]
    users = [int(rest) for word, rest in said if word == "USER"]
    assert users and 0 not in users
    assert [json.loads(rest) for word, rest in said if word == "ENTRYPOINT"] == [["soorma"]]
    assert "soorma" in PROJECT["scripts"]


def test_the_image_of_a_checkout_has_the_servers_port_and_no_ignored_files() -> None:
    said = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert [int(rest) for word, rest in said if word == "EXPOSE"] == [DEFAULT_PORT]
    left_out = {line.strip("*/") for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()}
    ignored = {line.strip("*/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()}
    assert {".git", ".venv", ".make", "__pycache__"} <= left_out
    assert ignored & {".venv", ".make", "__pycache__"} <= left_out
