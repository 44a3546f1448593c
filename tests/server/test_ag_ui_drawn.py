"""Runs of drawn plans of all kinds of ends keep the protocol's rules of sequence. PLANS says how many, SEED which."""

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ag_ui_kit import broken_rules, kinds, resumed, run, run_input
from http_kit import Keys, caller
from kit import payments, planner, stock

from soorma_ai import Approval, EventDefinition, Platform
from soorma_ai.gateways.ag_ui import AgUiGateway
from soorma_ai.server import app
from soorma_ai.testing.scripted import complete, give_up, publish, publish_all, wait

PLANS, SEED = int(os.environ.get("PLANS", "24")), int(os.environ.get("SEED", "1"))
GOAL = "order.received"
CHARGE = publish("payment.charge.requested", amount=12)
RESERVE = publish("inventory.reserve.requested", order_id="A1")
ITEMS = [
    *(CHARGE, RESERVE, publish_all(RESERVE, CHARGE), wait("colour.chosen", "which colour?")),
    *(publish("no.such.event"), complete({"paid": 12}), complete("done"), complete(), give_up("nobody paid")),
]
KEYS = Keys(maria=caller())


async def test_runs_of_drawn_plans_keep_the_rules(tmp_path: Path) -> None:
    rng, ends = Random(SEED), Counter[str]()
    options: Any = {"external_events": [EventDefinition(event_name="colour.chosen")]}
    async with Platform(f"sqlite:///{tmp_path / 'drawn.db'}") as platform:
        gateway = AgUiGateway()
        drawn = planner(lambda _: rng.choice(ITEMS), **options)
        await platform.start(gateway, drawn, payments(Approval()), stock())
        served = app(platform, auth=KEYS, doors=[gateway], rate=None)
        maria = platform.as_user(tenant_id="shop", user_id="maria")
        for number in range(PLANS):
            given = run_input(run_id=f"r{number}", data={"order_id": str(number)})
            while (told := await run(served, "maria", GOAL, given)) and _asks(told):
                ends["interrupt"] += 1
                entry = rng.choice([resumed(_asks(told)[0].id, True), resumed(_asks(told)[0].id, status="cancelled")])
                if number % 8 == 3:
                    await maria.cancel(told[0].metadata["plan_id"])
                    entry = None
                given = run_input(resume=[entry]) if entry else given
            ends["error" if kinds(told)[-1] == "RUN_ERROR" else told[-1].outcome.type] += 1
    print(dict(ends), f"SEED={SEED}")
    assert set(ends) == {"interrupt", "success", "error", "cancelled"}


def _asks(told: list[Any]) -> list[Any]:
    outcome = getattr(told[-1], "outcome", None)
    return outcome.interrupts if outcome is not None and outcome.type == "interrupt" else []


@pytest.mark.parametrize("lost", ["RUN_STARTED", "STEP_STARTED", "STEP_FINISHED", "TEXT_MESSAGE_END", "RUN_FINISHED"])
async def test_a_lost_event_breaks_a_rule(tmp_path: Path, lost: str) -> None:
    async with Platform(f"sqlite:///{tmp_path / 'lost.db'}") as platform:
        gateway = AgUiGateway()
        await platform.start(gateway, planner([CHARGE, complete({"paid": 12})]), payments())
        told = await run(app(platform, auth=KEYS, doors=[gateway]), "maria", GOAL, run_input(data={"order_id": "1"}))
    rest = [one for one in told if kinds([one]) != [lost]]
    assert len(rest) < len(told)
    assert broken_rules(rest)
