"""`soorma upgrade --check` for people and scripts."""

import sys
from pathlib import Path

import pytest
from cli_kit import Shop

APP = """
from soorma_ai import Tool, ChoreographyPlanner
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

def agents(*needed, **options):
    till = Tool("till")
    form = {"type": "object", "required": [*needed]}
    till.on_invoke("pay.asked", payload_schema=form, approval="always", **options)(lambda request, context: {})
    script = ScriptedReasoner([publish("pay.asked", amount=5), complete({})])
    return [till, ChoreographyPlanner("clerk", goals=["order.filed"], reasoner=script)]

def wider():
    return agents(description="Pays.")

def narrower():
    return agents("currency")
"""
DONE, ERROR, USAGE = 0, 1, 2
WAITS = 4


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    (tmp_path / "till_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "till_app", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    shop = Shop(tmp_path / "store.db")
    assert shop("run", "till_app:agents", "order.filed", "--data", "{}", "--no-wait").exit_code == WAITS
    return shop


def test_an_upgrade_without_broken_work_is_safe(shop: Shop) -> None:
    for command in (["--check"], ["--check", "till_app:agents"], ["--check", "till_app:wider"]):
        result = shop("upgrade", *command)
        assert result.exit_code == DONE, result.output
        assert result.stdout.splitlines()[-1] == "safe: 1 open plans, 1 open approvals"


def test_broken_work_is_printed_with_its_reasons(shop: Shop) -> None:
    result = shop("upgrade", "--check", "till_app:narrower")
    assert result.exit_code == ERROR
    first, reason, broken, *_, last = result.stdout.splitlines()
    assert first.startswith("pay.asked  till  ")
    assert first.endswith("narrower")
    assert "$.currency: is required now" in reason
    assert "pay.asked  breaks  plan " in broken
    assert last == "not safe: 1 open plans, 1 open approvals"


def test_a_check_is_asked_for_by_name(shop: Shop) -> None:
    result = shop("upgrade", "till_app:wider")
    assert result.exit_code == USAGE
    assert "--check" in result.stderr
