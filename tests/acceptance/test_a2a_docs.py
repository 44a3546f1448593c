"""The programs of docs/a2a.md run as printed, against the server of the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

from http_process import start_server
from offline_kit import ROOT

BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "a2a.md").read_text(), re.MULTILINE | re.DOTALL)


def output_of(folder: Path, program: str, url: str) -> str:
    """Return the output of a program pointed at this server."""
    assert "http://127.0.0.1:8700" in program
    (folder / "program.py").write_text(program.replace("http://127.0.0.1:8700", url))
    done = subprocess.run(
        (sys.executable, "program.py"), check=False, capture_output=True, text=True, cwd=folder, env={**os.environ}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_programs_of_the_page_work_as_described(tmp_path: Path) -> None:
    gateway, client, agent = BLOCKS
    (tmp_path / "partners.py").write_text(gateway)
    with start_server(tmp_path / "there.db", app="partners:agents", folder=tmp_path) as served:
        assert "payment.charge" in output_of(tmp_path, client, served.url)
    with start_server(tmp_path / "again.db", app="partners:agents", folder=tmp_path) as served:
        told = output_of(tmp_path, agent, served.url)
        assert "asked:" in told and "{'paid': 12}" in told
