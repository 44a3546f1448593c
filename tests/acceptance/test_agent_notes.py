"""Notes for coding agents in a new project: AGENTS.md and the skill. Their commands and programs run in the project."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import Shop

NOTES = "AGENTS.md"
SKILL = ".agents/skills/soorma-flow/SKILL.md"
BLOCKS = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"`((?:refund_desk|tests|\.agents)(?:/[\w.-]+)*)`")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes") / "refund-desk"
    made = Shop(folder.parent / "none.db")("init", str(folder))
    assert made.exit_code == 0, made.output
    return folder


def run(project: Path, line: str) -> str:
    """Run a line of the notes in the project, on the store of its own, and return the printed text."""
    folder = str(Path(sys.executable).parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOORMA_", "PYTEST_"))}
    environment["PATH"] = folder + os.pathsep + environment.get("PATH", "")
    made = subprocess.run(
        line, shell=True, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert made.returncode == 0, f"{line}\n{made.stdout}\n{made.stderr}"
    return made.stdout


def blocks(project: Path, name: str, language: str) -> list[str]:
    found = [text for kind, text in BLOCKS.findall((project / name).read_text()) if kind == language]
    assert found
    return found


def test_the_tests_in_the_skill_pass_in_a_new_project(project: Path) -> None:
    for number, program in enumerate(blocks(project, SKILL, "python")):
        (project / "tests" / f"test_skill_{number}.py").write_text(program)
    assert "passed" in run(project, "make test ARGS='-k two_days'")


@pytest.mark.parametrize("name", [NOTES, SKILL])
def test_every_command_in_the_notes_for_coding_agents_succeeds_in_a_new_project(project: Path, name: str) -> None:
    for line in "".join(blocks(project, name, "console")).splitlines():
        words = line
        if "PLAN" in line:
            words = line.replace("PLAN", run(project, "soorma plans ls").split()[0])
        run(project, words)


@pytest.mark.parametrize("name", [NOTES, SKILL])
def test_every_file_in_the_notes_for_coding_agents_exists(project: Path, name: str) -> None:
    named = NAMED.findall((project / name).read_text())
    assert named
    assert [file for file in named if not (project / file).exists()] == []
