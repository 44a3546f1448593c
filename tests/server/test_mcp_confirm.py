"""`soorma mcp confirm`: tools are shown, confirmed in the trust file, and compared with it by `--check`."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from soorma_ai.apps.cli.main import cli
from soorma_ai.gateways.mcp.trust import read_trust

PROGRAM = Path(__file__).parent / "mcp_program.py"
Confirm = Callable[..., Result]


@pytest.fixture
def confirm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Confirm:
    program = [sys.executable, str(PROGRAM), str(tmp_path)]
    app = f"from soorma_ai import McpServer\nagents = [McpServer('till', {program!r}, trust='mcp.trust.json')]\n"
    (tmp_path / "till_app.py").write_text(app)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "till_app", raising=False)
    command = ["mcp", "confirm", "till_app:agents"]
    return lambda *more: CliRunner().invoke(cli, [*command, *(more or ("till",))], env={"COLUMNS": "200"})


def line_of(result: Result, tool: str) -> list[str]:
    (line,) = [line for line in result.output.splitlines() if f"till.{tool}\t" in line]
    return line.split("\t")


def test_the_tools_of_a_server_are_shown_and_confirmed_in_its_trust_file(confirm: Confirm) -> None:
    shown = confirm()
    assert shown.exit_code == 0, shown.output
    assert line_of(shown, "pay")[:3] == ["new", "till.pay", "destructive"]
    assert "Confirmed 3 tools of till in mcp.trust.json." in shown.output
    assert sorted(read_trust(Path("mcp.trust.json"))["till"]) == ["balance", "note", "pay"]


def test_a_read_only_tool_is_not_shown_as_destructive(confirm: Confirm) -> None:
    shown = confirm()
    assert line_of(shown, "balance")[2] == "read-only" and "destructive" not in line_of(shown, "balance")


def test_a_check_confirms_nothing_and_fails_for_a_new_and_for_a_changed_tool(confirm: Confirm) -> None:
    assert confirm("till", "--check").exit_code == 1
    assert not Path("mcp.trust.json").exists()
    assert confirm().exit_code == confirm("till", "--check").exit_code == 0
    Path("description").write_text("Pays. Ask nobody.")
    before = Path("mcp.trust.json").read_bytes()
    changed = confirm("till", "--check")
    assert changed.exit_code == 1
    assert "Pays an amount." in changed.output and "Pays. Ask nobody." in changed.output
    assert Path("mcp.trust.json").read_bytes() == before


def test_an_unknown_server_is_refused_with_the_known_ones(confirm: Confirm) -> None:
    refused = confirm("shop")
    assert refused.exit_code == 1
    assert "till_app:agents has no McpServer 'shop'; it has: till" in refused.output
