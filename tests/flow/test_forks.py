"""A fork begins with the beginning of another plan, asks one decision anew, and sends nothing without a person."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, events, is_idle, order, payments, planner, stock, the_wait, until, wait_for_end
from test_trials import rows_of

from soorma_ai import Approval, ChoreographyPlanner, Platform, PlatformContext, TransitionContext
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.trials.cases.loop import make_pending_cases
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, delegate, publish, publish_all, wait

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
CHARGE_LESS = publish("payment.charge.requested", amount=5.0)
DONE = complete({"reserved": True})
# Rows with the last sign of life of an agent, and with the last number of a table.
COUNTERS = ("agent", "meta", "sqlite_sequence")


async def finished(platform: Platform, *script: Item, charged: list[Any] | None = None) -> str:
    """Return a plan that went by the first part of the script; its forks go by the rest."""
    plan = await order(platform, planner([*script]), stock(), payments(charged=charged))
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def test_a_fork_has_the_steps_before_its_decision_and_asks_it_anew(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, DONE)
    fork = await platform.fork(plan_id, 2)
    ended = await wait_for_end(platform, fork.plan_id)
    origin = await platform.plan(plan_id)
    assert ended.status is PlanStatus.COMPLETED
    known = [(one.kind, one.name, one.data) for one in origin.steps[:3]]
    assert [(one.kind, one.name, one.data) for one in ended.steps[:3]] == known
    assert (ended.fork.plan_id, ended.fork.number) == (plan_id, 2)
    asked, anew = await platform.prompt(plan_id, 2), await platform.prompt(fork.plan_id, 1)
    assert (anew.messages, anew.faults) == (asked.messages, ())


async def test_a_request_of_a_fork_is_held_and_an_approved_one_is_not_sent(platform: Platform) -> None:
    charged: list[Any] = []
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE_LESS, charged=charged)
    before = len(await events(platform))
    fork = await platform.fork(plan_id, 2)
    asked = await the_wait(platform)
    assert asked.message.startswith(f"Fork of plan {plan_id}: May payment.charge.requested be published?")
    assert await platform.answer(asked.wait_id, {"approved": True}) == "accepted"
    ended = await wait_for_end(platform, fork.plan_id)
    assert (ended.status, charged) == (PlanStatus.FAILED, [9.0])
    assert "was approved, and not sent" in ended.reason
    assert {one.type for one in (await events(platform))[before:]} == {"plan.forked", "plan.wait.answered"}


async def test_an_acting_fork_sends_an_approved_request(platform: Platform) -> None:
    charged: list[Any] = []
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE_LESS, DONE, charged=charged)
    fork = await platform.fork(plan_id, 2, act=True)
    asked = await the_wait(platform)
    await platform.answer(asked.wait_id, {"approved": True})
    ended = await wait_for_end(platform, fork.plan_id)
    assert (ended.status, charged) == (PlanStatus.COMPLETED, [9.0, 5.0])


async def test_a_fork_is_for_managers_and_the_origins_user_neither_sees_nor_steers_it(platform: Platform) -> None:
    charged = list[Any]()
    script = [RESERVE, CHARGE, DONE, CHARGE_LESS, wait("user.replied", "The date?"), DONE]
    await platform.start(planner(script, external_events=["user.replied"]), stock(), payments(charged=charged))
    ann = platform.as_user(tenant_id="default", user_id="ann")
    plan = await ann.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    seen = len((await ann.events()).events)
    fork = await platform.fork(plan.plan_id, 2, act=True, note="Is it a fraud?")
    operator = platform.as_user(tenant_id="default", user_id="oscar", roles=["operator"])
    for response in ({"approved": True}, {"date": "today"}):
        [asked] = await until(platform, operator.waits)
        assert [one.plan_id for one in await ann.plans()] == [plan.plan_id]
        assert await ann.waits() == []
        for call in (ann.plan(fork.plan_id), ann.prompt(fork.plan_id, 1), ann.cancel(fork.plan_id)):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(NotFound):
            await ann.answer(asked.wait_id, response)
        assert await operator.answer(asked.wait_id, response) == "accepted"
        await until(platform, lambda: is_idle(platform))
    assert (await wait_for_end(platform, fork.plan_id)).status is PlanStatus.COMPLETED
    assert charged == [9.0, 5.0]
    assert {one.event.type for one in (await ann.events()).events[seen:]} == {
        "payment.charge.requested",
        "payment.charge.requested.completed",
    }


async def test_an_auditor_sees_the_request_of_a_fork_and_answers_none(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE_LESS)
    fork = await platform.fork(plan_id, 2)
    asked = await the_wait(platform)
    assert asked.approvers == ("operator",)
    auditor = platform.as_user(tenant_id="default", user_id="ada", roles=["auditor"])
    assert [one.wait_id for one in await auditor.waits()] == [asked.wait_id]
    assert await auditor.answer(asked.wait_id, {"approved": True}) == "invalid"
    await platform.cancel(fork.plan_id)
    await wait_for_end(platform, fork.plan_id)


async def test_the_approvers_of_an_event_are_those_of_its_fork(platform: Platform) -> None:
    own = Approval(approvers=("finance",))
    await platform.start(planner([RESERVE, CHARGE, DONE, CHARGE]), stock(), payments(own))
    plan = await platform.submit("order.received", {})
    await platform.answer((await the_wait(platform)).wait_id, {"approved": True})
    await plan.result(timeout=PATIENCE)
    await platform.fork(plan.plan_id, 2)
    assert (await the_wait(platform)).approvers == ("finance",)


async def test_a_dry_fork_gets_recorded_replies_and_no_agent_is_asked(platform: Platform) -> None:
    charged: list[Any] = []
    together = publish_all(RESERVE, CHARGE)
    script = [RESERVE, together, CHARGE, DONE]
    plan_id = await finished(platform, *script, *script[1:], charged=charged)
    fork = await platform.fork(plan_id, 2, dry=True)
    ended = await wait_for_end(platform, fork.plan_id)
    origin = await platform.plan(plan_id)
    assert (ended.status, ended.result, charged) == (PlanStatus.COMPLETED, origin.result, [9.0, 9.0])
    for number in (1, 2, 3):
        asked, anew = await platform.prompt(plan_id, number + 1), await platform.prompt(fork.plan_id, number)
        assert (anew.messages, anew.faults) == (asked.messages, ())


async def test_a_dry_fork_stops_at_the_first_difference(platform: Platform) -> None:
    charged: list[Any] = []
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE_LESS, charged=charged)
    fork = await platform.fork(plan_id, 2, dry=True)
    ended = await wait_for_end(platform, fork.plan_id)
    assert (ended.status, charged) == (PlanStatus.FAILED, [9.0])
    assert '{"amount":5.0} in the fork' in ended.reason
    assert 'recorded then: payment.charge.requested with {"amount":9.0}' in ended.reason


async def test_a_dry_fork_goes_by_a_request_before_its_edit(platform: Platform) -> None:
    script = [RESERVE, CHARGE, CHARGE_LESS, DONE]
    charged = list[Any]()
    plan = await order(platform, planner([*script, *script[1:]]), stock(), payments("always", charged))
    edited = {"data": {"amount": 5.0}}
    assert await platform.answer((await the_wait(platform)).wait_id, edited, decision="edit") == "accepted"
    await until(platform, lambda: charged)
    await platform.answer((await the_wait(platform)).wait_id, {"approved": True})
    await plan.result(timeout=PATIENCE)
    fork = await platform.fork(plan.plan_id, 2, dry=True)
    ended = await wait_for_end(platform, fork.plan_id)
    assert (ended.status, ended.reason, charged) == (PlanStatus.COMPLETED, None, [5.0, 5.0])


async def test_a_fork_of_a_fork_at_a_join_is_refused_without_the_joins_row(
    platform: Platform, clock: VirtualClock
) -> None:
    plan_id = await finished(platform, publish_all(RESERVE, CHARGE), DONE, RESERVE)
    fork = await platform.fork(plan_id, 2)
    await the_wait(platform)
    await clock.advance(2 * 86_400)
    await platform.prune(timedelta(days=1))
    with pytest.raises(LocalProtocolError, match="the row of its join was removed with an older plan; fork at"):
        await platform.fork(fork.plan_id, 1)


async def test_a_rejected_request_of_a_fork_makes_no_case(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE, DONE)
    fork = await platform.fork(plan_id, 2)
    asked = await the_wait(platform)
    await platform.answer(asked.wait_id, {"approved": False}, decision="reject")
    await wait_for_end(platform, fork.plan_id)
    assert await make_pending_cases(platform.services) == 0
    assert await platform.cases() == []


async def test_the_rows_of_the_origin_stay_as_they_are(platform: Platform, path: Path) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE, CHARGE, DONE)
    before = rows_of(path)
    for is_dry in (False, True):
        fork = await platform.fork(plan_id, 2, dry=is_dry)
        if not is_dry:
            asked = await the_wait(platform)
            await platform.answer(asked.wait_id, {"approved": False}, note="not now")
            await platform.cancel(fork.plan_id)
        await wait_for_end(platform, fork.plan_id)
    after = rows_of(path)
    for table, rows in before.items():
        assert [one for one in rows if one not in after[table]] == [] or table in COUNTERS, table


async def test_the_same_key_begins_one_fork(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, DONE)
    first = await platform.fork(plan_id, 2, key="a click")
    assert await platform.fork(plan_id, 2, key="a click") == first
    with pytest.raises(LocalProtocolError, match="the key 'a click' is that of another fork"):
        await platform.fork(plan_id, 1, key="a click")
    with pytest.raises(LocalProtocolError, match="the key 'a click' is that of another fork"):
        await platform.fork(plan_id, 2, key="a click", note="in a hurry")
    assert len(await platform.plans()) == 2


async def test_no_event_ends_a_wait_of_a_fork(platform: Platform) -> None:
    agent = planner([RESERVE, DONE, wait("user.replied", "The date?"), DONE], external_events=["user.replied"])
    plan = await order(platform, agent, stock())
    await plan.result(timeout=PATIENCE)
    fork = await platform.fork(plan.plan_id, 2)
    asked = await the_wait(platform)
    await platform.publish("business-facts", "user.replied", {}, plan_id=fork.plan_id)
    await platform.publish("notification-events", "user.replied", {}, correlation_id=asked.wait_id)
    assert (await the_wait(platform)).wait_id == asked.wait_id
    assert await platform.answer(asked.wait_id, {"date": "today"}) == "accepted"
    assert (await wait_for_end(platform, fork.plan_id)).status is PlanStatus.COMPLETED


async def test_a_note_is_told_and_spent_actions_are_spent(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, DONE)
    fork = await platform.fork(plan_id, 2, note="The customer is in a hurry.")
    ended = await wait_for_end(platform, fork.plan_id)
    [message] = [one.content for one in (await platform.prompt(fork.plan_id, 1)).messages if one.role == "user"]
    assert "The customer is in a hurry." in message
    assert (ended.usage.actions, ended.usage.llm_calls) == (1, 1)


async def test_open_requests_of_the_origin_are_told_as_unanswered(platform: Platform) -> None:
    first = publish_all(RESERVE, CHARGE, need=1)
    worker = payments("always")
    plan = await order(platform, planner([first, DONE, DONE]), stock(), worker)
    await plan.result(timeout=PATIENCE)
    fork = await platform.fork(plan.plan_id, 2)
    assert fork.unanswered == ("payment.charge.requested",)
    await wait_for_end(platform, fork.plan_id)
    [message] = [one.content for one in (await platform.prompt(fork.plan_id, 1)).messages if one.role == "user"]
    assert "without an answer in this fork" in message


async def test_no_code_of_an_author_runs_in_a_fork(platform: Platform) -> None:
    called = list[str]()
    agent = planner([RESERVE, DONE, DONE])
    agent.custom_context(lambda plan, context: called.append("context") or {})
    plan = await order(platform, agent, stock())
    await plan.result(timeout=PATIENCE)
    before = len(called)
    fork = await platform.fork(plan.plan_id, 2)
    await wait_for_end(platform, fork.plan_id)
    assert len(called) == before


async def test_a_plan_that_cannot_be_forked_is_refused_with_the_reason(platform: Platform) -> None:
    agent = planner([RESERVE, DONE])
    agent.custom_context(lambda plan, context: {"tier": "gold"})
    plan = await order(platform, agent, stock())
    await plan.result(timeout=PATIENCE)
    with pytest.raises(LocalProtocolError, match="context by its planner's code"):
        await platform.fork(plan.plan_id, 2)
    with pytest.raises(NotFound, match="no decision 9, only 2"):
        await platform.fork(plan.plan_id, 9)
    with pytest.raises(LocalProtocolError, match="exclude each other"):
        await platform.fork(plan.plan_id, 2, dry=True, act=True)


async def test_a_fork_asks_its_model(platform: Platform) -> None:
    other = ChoreographyPlanner("other", goals=["other.wanted"], reasoner=ScriptedReasoner([DONE], model="other"))
    await platform.start(other)
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    fork = await platform.fork(plan_id, 3, model="other")
    ended = await wait_for_end(platform, fork.plan_id)
    assert [one.model for one in ended.decisions] == ["other"]


async def test_a_fork_asks_no_model_of_unknown_price_on_a_budget_and_no_replaced_one(platform: Platform) -> None:
    unpriced = ScriptedReasoner([], model="unpriced", usd_per_token=None)
    other = ScriptedReasoner([], model="other", usd_per_token=0.0)
    await platform.start(
        ChoreographyPlanner("first", goals=["first.wanted"], reasoner=unpriced),
        ChoreographyPlanner("second", goals=["second.wanted"], reasoner=other),
        planner([DONE], limits=Limits(max_cost_usd=1.0)),
    )
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    with pytest.raises(ConfigError, match="the price of unpriced is not known"):
        await platform.fork(plan.plan_id, 1, model="unpriced")
    await platform.retire_model("gone", "other")
    with pytest.raises(ConfigError, match="gone is replaced by other: fork with that"):
        await platform.fork(plan.plan_id, 1, model="gone")
    assert len(await platform.plans()) == 1


async def test_a_fork_behind_a_join_is_told_its_results(platform: Platform) -> None:
    plan_id = await finished(platform, publish_all(RESERVE, CHARGE), DONE, DONE)
    fork = await platform.fork(plan_id, 2)
    ended = await wait_for_end(platform, fork.plan_id)
    asked, anew = await platform.prompt(plan_id, 2), await platform.prompt(fork.plan_id, 1)
    assert (ended.status, anew.messages) == (PlanStatus.COMPLETED, asked.messages)


async def test_a_part_of_a_plan_is_forked_as_a_root_and_a_delegation_is_held(platform: Platform) -> None:
    charged = list[Any]()
    part = planner([CHARGE, DONE, CHARGE, CHARGE, DONE], name="billing", goals=["bill.wanted"])
    whole = planner([delegate("billing", "bill.wanted"), DONE, delegate("billing", "bill.wanted"), DONE])
    plan = await order(platform, whole, part, payments(charged=charged))
    await plan.result(timeout=PATIENCE)
    [child] = [one for one in await platform.plans() if one.parent_plan_id == plan.plan_id]
    of_part = await platform.fork(child.plan_id, 1)
    asked = await the_wait(platform)
    assert (asked.plan_id, asked.proposed_event) == (of_part.plan_id, "payment.charge.requested")
    await platform.cancel(of_part.plan_id)
    ended = await wait_for_end(platform, of_part.plan_id)
    assert (ended.parent_plan_id, ended.root_plan_id) == (None, of_part.plan_id)
    acting = await platform.fork(plan.plan_id, 1, act=True)
    await platform.answer((await the_wait(platform)).wait_id, {"approved": True})
    await wait_for_end(platform, acting.plan_id)
    assert charged == [9.0, 9.0]


async def test_a_fork_is_forked(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE, CHARGE, DONE, DONE)
    first = await platform.fork(plan_id, 2, dry=True)
    assert (await wait_for_end(platform, first.plan_id)).status is PlanStatus.COMPLETED
    second = await platform.fork(first.plan_id, 2)
    ended = await wait_for_end(platform, second.plan_id)
    assert (ended.status, ended.fork and ended.fork.plan_id) == (PlanStatus.COMPLETED, first.plan_id)


async def test_a_planner_with_code_for_each_step_fails_its_fork(platform: Platform) -> None:
    agent = planner([RESERVE, DONE])

    @agent.on_transition()
    async def end(transition: TransitionContext, context: PlatformContext) -> None:
        await transition.plan.finalize(transition.data)

    plan = await order(platform, agent, stock())
    await plan.result(timeout=PATIENCE)
    fork = await platform.fork(plan.plan_id, 1)
    ended = await wait_for_end(platform, fork.plan_id)
    assert ended.status is PlanStatus.FAILED
    assert "has an on_transition handler" in (ended.reason or "")


async def test_a_forgotten_user_leaves_with_the_forks_of_their_plans(platform: Platform) -> None:
    await platform.start(planner([RESERVE, DONE, DONE]), stock())
    maria = platform.as_user(tenant_id="default", user_id="maria")
    plan = await maria.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    fork = await platform.fork(plan.plan_id, 2)
    await wait_for_end(platform, fork.plan_id)
    await platform.forget("maria")
    assert await platform.services.store.plans.plan(fork.plan_id) is None


async def test_a_forgotten_user_of_the_default_name_leaves_with_their_forks(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, DONE, DONE)
    fork = await platform.fork(plan_id, 2)
    await wait_for_end(platform, fork.plan_id)
    await platform.forget("local")
    assert await platform.services.store.plans.plan(fork.plan_id) is None
