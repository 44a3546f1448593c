"""Runs of AG-UI tell each end of a request or a question, to the right person, and from any place of a long plan."""

from datetime import timedelta
from typing import Any

import pytest
from ag_ui_kit import broken_rules, open_run, parse, post, resumed, run, run_input, states_of
from http_kit import Keys, caller
from kit import ORDER_ID, as_time_passes, pass_time, payments, planner, stock
from starlette.applications import Starlette

from soorma_ai import Agent, Approval, EventDefinition, Platform
from soorma_ai.gateways.ag_ui import AgUiGateway, runs
from soorma_ai.server import app
from soorma_ai.testing import VirtualClock
from soorma_ai.testing.scripted import complete, give_up, publish, publish_all

GOAL = "order.received"
CHARGE = publish("payment.charge.requested", amount=12)
RESERVE = publish("inventory.reserve.requested", order_id="A1")
DONE = complete({"paid": 12})
HOUR, SOON = timedelta(hours=1), timedelta(seconds=20)
BY_MANAGER = Approval(approvers=("manager",), timeout=SOON)
ANYBODY = Approval(timeout=HOUR)
A1 = {"order_id": "A1"}
KEYS = Keys(maria=caller(), tom=caller("shop", "tom"))


async def serve(platform: Platform, *agents: Agent, **options: Any) -> Starlette:
    gateway = AgUiGateway(**options)
    await platform.start(gateway, *agents)
    return app(platform, auth=KEYS, doors=[gateway], rate=None)


async def test_an_expired_question_is_told_as_a_question(platform: Platform, clock: VirtualClock) -> None:
    served = await serve(platform, planner([CHARGE, give_up("nobody came")]), payments(BY_MANAGER))
    async with open_run(served, "maria", GOAL, run_input(data=A1)) as stream:
        await stream.until(lambda: '"status":"open"' in stream.text)
        await pass_time(platform, clock, 2 * SOON)
        await stream.ended()
    told = parse(stream.text)
    assert (states_of(told), broken_rules(told)) == ([("soorma.question", "open"), ("soorma.question", "expired")], [])


@pytest.mark.parametrize("way", ["rejected", "expired"])
async def test_the_same_input_tells_the_story_of_a_goal_without_approval(
    platform: Platform, clock: VirtualClock, way: str
) -> None:
    goal = EventDefinition(event_name=GOAL, approval=BY_MANAGER)
    served = await serve(platform, planner([DONE], goals=[goal]))
    boss = platform.as_user(tenant_id="shop", user_id="boss", roles=["manager"])
    given = run_input(run_id="r1", data=A1)
    async with open_run(served, "maria", GOAL, given) as stream:
        await stream.until(lambda: "RUN_STARTED" in stream.text)
        [asked] = await boss.waits()
        if way == "rejected":
            await boss.answer(asked.wait_id, {"approved": False}, decision="reject", note="too dear")
        await as_time_passes(clock, lambda: _has_ended(stream), 2.0)
        await stream.ended()
    again = await run(served, "maria", GOAL, given)
    words = {"rejected": "rejected by boss: too dear", "expired": "it was not approved in time"}
    assert (again, again[-1].code, again[-1].message) == (parse(stream.text), "rejected", words[way])
    other = await post(served, "maria", GOAL, {**given, "forwardedProps": {"order_id": "A2"}})
    assert (other.status_code, "asked with other data before" in other.text) == (422, True)


async def _has_ended(stream: Any) -> bool:
    return "RUN_ERROR" in stream.text


async def test_a_substitute_of_an_absent_person_gets_the_question_of_a_run(
    platform: Platform, clock: VirtualClock
) -> None:
    served = await serve(platform, planner([CHARGE, DONE]), payments(BY_MANAGER))
    boss = platform.as_user(tenant_id="shop", user_id="boss", roles=["manager"])
    await boss.inbox.away(clock.now() + HOUR, "tom")
    told = await run(served, "tom", GOAL, run_input(data=A1))
    assert told[-1].outcome.type == "interrupt"
    [asked] = told[-1].outcome.interrupts
    told = await run(served, "tom", GOAL, run_input(resume=[resumed(asked.id, True)]))
    assert told[-1].outcome.type == "success"


async def test_requests_and_questions_of_a_cancelled_plan_are_closed(platform: Platform) -> None:
    together = publish_all(CHARGE, publish("payment.charge.requested", amount=3))
    served = await serve(platform, planner([together]), payments(BY_MANAGER))
    maria = platform.as_user(tenant_id="shop", user_id="maria")
    async with open_run(served, "maria", GOAL, run_input(data=A1)) as stream:
        await stream.until(lambda: stream.text.count('"status":"open"') == 2)
        [plan] = await maria.plans()
        await maria.cancel(plan.plan_id)
        await stream.ended()
    told = parse(stream.text)
    question = "soorma.question"
    assert states_of(told) == [(question, "open"), (question, "open"), (question, "closed"), (question, "closed")]
    assert (broken_rules(told), told[-1].outcome.type) == ([], "cancelled")


async def test_a_request_of_a_failed_plan_is_closed_from_any_place(platform: Platform) -> None:
    served = await serve(platform, planner([RESERVE] * 9), stock())
    given = run_input(run_id="r1", data=A1)
    whole = await run(served, "maria", GOAL, given)
    assert (whole[-1].type, states_of(whole)[-1]) == ("RUN_ERROR", ("soorma.request", "closed"))
    [*_, failed] = [one.step_name.partition(":")[0] for one in whole if one.type == "STEP_STARTED"]
    rest = await run(served, "maria", GOAL, given, **{"last-event-id": failed})
    assert rest == [whole[0], *whole[-2:]]


async def test_a_story_of_many_pages_is_whole_from_any_place(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve(platform, planner([RESERVE, CHARGE, RESERVE, DONE]), payments(ANYBODY), stock())
    given = run_input(run_id="r1", data=A1)
    [asked] = (await run(served, "maria", GOAL, given))[-1].outcome.interrupts
    answered = run_input(run_id="r2", resume=[resumed(asked.id, True)])
    rest = await run(served, "maria", GOAL, answered)
    whole = await run(served, "maria", GOAL, given)
    first = next(one.step_name for one in rest if one.type == "STEP_STARTED")
    assert first == "4: answered payment.charge.requested"
    for size in (1, 2, 3):
        monkeypatch.setattr(runs, "PAGE", size)
        assert await run(served, "maria", GOAL, given) == whole
        assert await run(served, "maria", GOAL, answered) == rest


async def test_words_without_a_place_are_refused_with_a_cure(platform: Platform) -> None:
    goal = EventDefinition(event_name=GOAL, payload_schema=ORDER_ID)
    served = await serve(platform, planner([DONE], goals=[goal]), stock())
    both = await post(served, "maria", GOAL, run_input("two pens", data=A1))
    assert (both.status_code, "both give 'order_id': leave one of them out" in both.text) == (422, True)
    assert (await run(served, "maria", GOAL, run_input("A1")))[-1].outcome.type == "success"


async def test_a_goal_without_a_planner_names_only_offered_goals(platform: Platform) -> None:
    served = await serve(
        platform, planner([DONE], goals=[GOAL, "order.returned"]), stock(), goals=["order.returned", "gone"]
    )
    missing = await post(served, "maria", "gone", run_input("x"))
    assert (missing.status_code, "there is no goal gone here; goals: order.returned" in missing.text) == (404, True)
