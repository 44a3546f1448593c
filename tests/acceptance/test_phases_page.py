"""The programs of the page on phases work as printed."""

import re
from pathlib import Path

import pytest
from offline_kit import ROOT, run

PROGRAMS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "phases.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_page_runs(tmp_path: Path, program: str) -> None:
    (tmp_path / "program.py").write_text(program)
    ran = run(tmp_path, "program.py")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "PLAN -> WRITE planned",
        "WRITE -> PLAN plan_was_wrong",
        "PLAN -> WRITE planned",
        "WRITE -> COMPLETE written",
        "{'PLAN': {'chapters': ['owls', 'mice']}, 'WRITE': {'text': 'Owls eat mice.'}}",
    ]


def test_the_page_shows_a_program() -> None:
    assert len(PROGRAMS) == 1
