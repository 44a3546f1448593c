"""Trials of the oracle's plans: without a change there is no difference, and no row of the store changes."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path

import pytest
import run as oracle
from material import is_there, read
from run import Options, Outcome
from scripted import Habit, Models
from wires import WIRES

from soorma_ai import Platform
from soorma_ai.features.trials.records import PlanTrial

# All 60 plans: EVERY=1.
EVERY = int(os.environ.get("EVERY") or 12)

pytestmark = [
    pytest.mark.skipif(not is_there(oracle.PLANS), reason=f"there are no plans in {oracle.PLANS}"),
    pytest.mark.timeout(600),
]


def rows_of(path: Path) -> dict[str, list[str]]:
    with contextlib.closing(sqlite3.connect(path)) as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(map(repr, store.execute(f'SELECT * FROM "{name}"'))) for name in tables}


async def try_all(store: Path) -> list[PlanTrial]:
    async with Platform(f"sqlite:///{store}") as platform:
        plans = await platform.services.store.plans.plans(tenant_id=None, limit=10_000)
        tenants = [platform.as_user(tenant_id=plan.lineage.tenant_id, user_id="customer") for plan in plans]
        return [await one.trial(plan.plan_id) for one, plan in zip(tenants, plans, strict=True)]


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_a_trial_of_every_plan_has_no_difference_and_changes_no_row(wire: str, tmp_path: Path) -> None:
    options = Options(oracle.PLANS, rate=0.25, wire=wire, every=EVERY)
    material = read(options.folder)
    plans = oracle.choose_plans(material, options)
    store, outcome = tmp_path / "store.db", Outcome()
    models = Models(material, plans, {plan.id: Habit(options.rate, options.seed) for plan in plans}, WIRES[wire])
    asyncio.run(oracle.go_together(models, store, options, outcome))
    assert outcome.passed(options), outcome.wrong
    before = rows_of(store)
    trials = asyncio.run(try_all(store))
    after = rows_of(store)
    assert [one.first for one in trials if one.first] == []
    assert len(trials) >= len(plans)
    assert sum(one.tried for one in trials) == sum(one.count for one in trials) >= outcome.decisions
    assert not any(one.unreadable for one in trials)
    assert {name for name in after if after[name] != before[name]} == set()
