"""A key that stops working, behind real processes: the plan rests through a kill, and a command resumes it."""

import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import SOORMA, Shop

from soorma_ai.testing.model_server import ModelServer, Reply, failure
from soorma_ai.testing.scripted import complete, publish

PATIENCE = 60.0
REFUND = Reply(json.dumps(publish("payment.refund.requested", amount=80)))
DONE = Reply(json.dumps(complete({"refunded": True})))


class Account:
    """Pays once, and refuses all later calls while its key is refused."""

    def __init__(self) -> None:
        self.is_good = False
        self.asked = 0

    def __call__(self, body: Any) -> Reply:
        self.asked += 1
        if self.asked == 1:
            return REFUND
        return DONE if self.is_good else failure(401, "Incorrect API key provided", code="invalid_api_key")


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Account]:
    found = Account()
    with ModelServer(found) as server:
        monkeypatch.setenv("MODEL_URL", server.url)
        monkeypatch.setenv("PAID", str(tmp_path / "paid"))
        yield found


def ends(shop: Shop, status: str) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        plan = shop.plan("refund.wanted")
        if plan["status"] == status:
            return plan
        time.sleep(0.1)
    raise AssertionError(f"the plan is {plan['status']}")


def test_a_plan_rests_through_a_kill_and_is_resumed_by_a_command(tmp_path: Path, account: Account) -> None:
    shop = Shop(tmp_path / "shop.db")
    ended = shop.process(*SOORMA, "run", "blocked:agents", "refund.wanted", "--data", "{}")
    assert ended.returncode == 4, ended.stderr
    assert "it needs an operator: openai/gpt-4o: the provider does not accept the key" in ended.stderr
    plan_id = shop.plan("refund.wanted")["plan_id"]
    need = f"(soorma plans resume {plan_id[:8]})"
    for command in (["plans", "ls"], ["plans", "show", plan_id], ["why", plan_id]):
        said = " ".join(shop(*command).stdout.split())
        assert "it needs an operator" in said and need in said, said
    told = shop("doctor")
    assert told.exit_code == 1 and "soorma plans resume --all" in " ".join(told.stdout.split())
    with shop.background(*SOORMA, "run", "blocked:agents", ready="plan_blocked") as process:
        assert account.asked == 3, "a start asks again, once"
        process.kill()
        process.wait()
    with shop.background(*SOORMA, "run", "blocked:agents", ready="plan_blocked"):
        account.is_good = True
        resumed = shop("plans", "resume", plan_id[:8])
        assert (resumed.exit_code, resumed.stdout) == (0, f"resumed plan {plan_id}\n"), resumed.output
        plan = ends(shop, "completed")
    assert (plan["result"], (tmp_path / "paid").read_text()) == ({"refunded": True}, "paid\n")
    assert shop("plans", "resume", plan_id).exit_code == 1
    assert shop("plans", "resume", "--all").stdout == "resumed 0 plans\n"
    assert shop("plans", "resume").exit_code == 2
