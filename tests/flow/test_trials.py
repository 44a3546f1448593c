"""A trial judges recorded answers by today's code, registry, rules and prompts, and carries nothing out."""

from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, open_platform, order, payments, planner, stock, the_wait
from places import ON_POSTGRES, raw

from soorma_ai import Approval, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.prompts import packaged_prompts
from soorma_ai.features.trials.records import Outcome
from soorma_ai.testing.scripted import complete, publish, publish_all

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
DONE = complete({"reserved": True})


def sizes(schema: dict[str, Any]) -> Tool:
    """Takes requests for parcels, in the form of this schema."""
    tool = Tool("parcels")

    @tool.on_invoke("parcel.wanted", payload_schema=schema)
    async def pack(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"packed": True}

    return tool


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


_TABLES = (
    "SELECT tablename FROM pg_tables WHERE schemaname = 'soorma'"
    if ON_POSTGRES
    else "SELECT name FROM sqlite_master WHERE type = 'table'"
)


def rows_of(path: Path) -> dict[str, list[Any]]:
    with raw(path) as store:
        tables = [name for (name,) in store.execute(_TABLES)]
        # On a server the upkeep of a platform that starts gives the registry another number.
        kept = [name for name in tables if name != "meta"]
        return {name: sorted(store.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in kept}


async def test_a_trial_without_a_change_has_no_difference(platform: Platform) -> None:
    odd = publish("no.such.event")
    together = publish_all(RESERVE, CHARGE)
    plan = await order(platform, planner([odd, "no JSON", RESERVE, together, DONE]), stock(), payments())
    await plan.result(timeout=PATIENCE)
    trial = await platform.trial(plan.plan_id)
    assert (trial.first, trial.count, trial.tried, trial.unreadable) == (None, 5, 5, 0)


async def test_a_trial_changes_no_row(platform: Platform, path: Path) -> None:
    plan = await order(platform, planner([RESERVE, DONE]), stock())
    await plan.result(timeout=PATIENCE)
    before = rows_of(path)
    assert (await platform.trial(plan.plan_id)).is_same
    after = rows_of(path)
    assert {name for name in after if after[name] != before[name]} <= {"agent"}


async def test_a_request_that_a_person_approved_is_the_same_today(platform: Platform) -> None:
    plan = await order(platform, planner([CHARGE, DONE]), payments(Approval(approvers=("manager",))))
    wait = await the_wait(platform)
    assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
    await plan.result(timeout=PATIENCE)
    assert (await platform.trial(plan.plan_id)).is_same


async def test_a_rejected_request_is_the_same_today(platform: Platform) -> None:
    plan = await order(platform, planner([CHARGE, CHARGE, RESERVE, DONE]), payments("always"), stock())
    wait = await the_wait(platform)
    assert await platform.answer(wait.wait_id, {"approved": False}, note="not today") == "accepted"
    await plan.result(timeout=PATIENCE)
    trial = await platform.trial(plan.plan_id)
    assert (trial.first, trial.tried) == (None, 4)


async def change(platform: Platform, path: Path, *agents: Any) -> Platform:
    """Return the platform of a later process with these agents on the same store."""
    await platform.__aexit__(None, None, None)
    later = open_platform(path)
    await later.__aenter__()
    await later.start(*agents)
    return later


async def after_parcel(platform: Platform, path: Path, later: Tool, *, data: Any, schema: dict[str, Any]) -> Any:
    """Return the trial of a plan with one parcel, after its agent came back in another form."""
    minds = planner([publish("parcel.wanted", **data), DONE])
    plan = await order(platform, minds, sizes(schema))
    await plan.result(timeout=PATIENCE)
    other = await change(platform, path, later)
    try:
        return await other.trial(plan.plan_id)
    finally:
        await other.__aexit__(None, None, None)


async def test_an_answer_outside_of_todays_schema_is_refused(platform: Platform, path: Path) -> None:
    narrower = sizes(form(size={"type": "integer", "maximum": 5}))
    trial = await after_parcel(platform, path, narrower, data={"size": 7}, schema=form(size={"type": "integer"}))
    assert trial.first is not None
    assert (trial.first.number, trial.first.outcome, trial.tried) == (1, Outcome.REFUSED, 1)
    assert "maximum" in trial.first.reason or "5" in trial.first.reason


async def test_an_answer_in_a_wider_form_is_reworded(platform: Platform, path: Path) -> None:
    wider = sizes(form(size={"type": "integer"}, colour={"type": "string"}))
    trial = await after_parcel(platform, path, wider, data={"size": 7}, schema=form(size={"type": "integer"}))
    assert trial.first is not None
    assert (trial.first.number, trial.first.outcome) == (1, Outcome.REWORDED)
    assert any("colour" in line for line in trial.first.question)


async def test_a_null_that_today_means_absent_is_a_difference_of_the_payload(platform: Platform, path: Path) -> None:
    today = sizes(form(size={"type": "integer"}, note={"type": "string"}))
    then = form(size={"type": "integer"}, note={"type": ["string", "null"]})
    trial = await after_parcel(platform, path, today, data={"size": 7, "note": None}, schema=then)
    assert trial.first is not None
    assert (trial.first.outcome, trial.first.reason) == (Outcome.DIFFERENT, "parcel.wanted has another payload today")
    assert '-  "note": null' in trial.first.answer


async def test_a_request_in_need_of_an_approval_today_is_a_difference(platform: Platform, path: Path) -> None:
    plan = await order(platform, planner([CHARGE, DONE]), payments())
    await plan.result(timeout=PATIENCE)
    later = await change(platform, path, payments("always"))
    trial = await later.trial(plan.plan_id)
    await later.__aexit__(None, None, None)
    assert trial.first is not None
    assert trial.first.reason == "payment.charge.requested was sent then, and needs an approval today"


async def test_a_changed_template_is_found_in_the_plans_with_its_words(
    platform: Platform, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words about several requests at once stand in the prompts of one of two plans."""
    text = (packaged_prompts() / "planner" / "decide.md.j2").read_text()
    folder = tmp_path / "prompts" / "planner"
    folder.mkdir(parents=True)
    needle = "{% if can_wait %}"
    assert needle in text
    (folder / "decide.md.j2").write_text(text.replace(needle, needle + "Wait in patience. "))
    await platform.start(planner([RESERVE, DONE]), stock())
    quiet = await platform.submit("order.received", {})
    await quiet.result(timeout=PATIENCE)
    waiter = planner([DONE], name="waiter", goals=["visit.received"], external_events=["bell.rang"])
    await platform.start(waiter)
    waiting = await platform.submit("visit.received", {})
    await waiting.result(timeout=PATIENCE)
    monkeypatch.setenv("SOORMA_PROMPTS_DIR", str(tmp_path / "prompts"))
    later = await change(platform, path)
    found = {name: await later.trial(name) for name in (quiet.plan_id, waiting.plan_id)}
    await later.__aexit__(None, None, None)
    assert found[quiet.plan_id].is_same
    first = found[waiting.plan_id].first
    assert first is not None and first.outcome is Outcome.REWORDED
    assert any("Wait in patience." in line for line in first.question)


async def test_a_question_with_a_lost_part_is_passed_over(platform: Platform, path: Path) -> None:
    plan = await order(platform, planner([RESERVE, DONE]), stock())
    await plan.result(timeout=PATIENCE)
    with raw(path) as store:
        store.execute("DELETE FROM prompt_part")
    trial = await platform.trial(plan.plan_id)
    assert (trial.tried, trial.unreadable, trial.first) == (2, 2, None)
