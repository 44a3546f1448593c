"""The programs and commands of the README work as printed."""

import ast
import re
from pathlib import Path

import click
import pytest
from offline_kit import ROOT, run

from soorma_ai.apps.cli.main import cli

README = (ROOT / "README.md").read_text()
NOT_RUN = "# not run"

_TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
_VARIABLE = re.compile(r"\bSOORMA_[A-Z]+(?:_[A-Z]+)*\b")
_INLINE = re.compile(r"`(make|soorma) ([^`]+)`")


def _blocks(*languages: str) -> dict[str, str]:
    """Return the blocks by their first line, the name in a failure."""
    found = {f"line-{README[: m.start()].count(chr(10)) + 1}": m for m in _BLOCK.finditer(README)}
    return {place: match[2] for place, match in found.items() if match[1] in languages}


def _programs() -> dict[str, str]:
    return {place: text for place, text in _blocks("python").items() if not text.startswith(NOT_RUN)}


def _commands(program: str) -> list[list[str]]:
    """Return the words after `program`, of every line in a block of commands and in running text."""
    lines = [
        line.removeprefix("$ ") for text in _blocks("console", "sh", "bash").values() for line in text.splitlines()
    ]
    told = [line.split()[1:] for line in lines if line.split()[:1] == [program]]
    return told + [words.split() for name, words in _INLINE.findall(README) if name == program]


@pytest.mark.parametrize("program", _programs().values(), ids=_programs())
def test_a_program_of_the_readme_runs(tmp_path: Path, program: str) -> None:
    (tmp_path / "program.py").write_text(program)
    ran = run(tmp_path, "program.py")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("program", _blocks("python").values(), ids=_blocks("python"))
def test_a_program_of_the_readme_not_run_here_compiles(program: str) -> None:
    compile(program, "README.md", "exec", flags=_TOP_LEVEL_AWAIT)


def test_every_make_command_of_the_readme_has_a_target() -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text()))
    asked = {word for words in _commands("make") for word in words[:1]}
    assert asked, "the README has no command to build"
    assert asked - targets == set()


def test_every_soorma_command_of_the_readme_exists() -> None:
    for words in _commands("soorma"):
        command: click.Command = cli
        for word in words:
            if not isinstance(command, click.Group):
                break
            found = command.commands.get(word)
            assert found is not None, f"soorma {' '.join(words)}: there is no {word!r}"
            command = found


def test_every_variable_in_the_documents_is_read() -> None:
    told = {name for path in (ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")) for name in _names_in(path)}
    read = {name for path in (ROOT / "soorma_ai").glob("**/*.py") for name in _names_in(path)}
    assert told, "the documents name no variable of the configuration"
    assert told - read == set()


def _names_in(path: Path) -> list[str]:
    return _VARIABLE.findall(path.read_text())


def test_every_file_linked_from_the_readme_exists() -> None:
    assert [link for link in _LINK.findall(README) if not (ROOT / link).exists()] == []
