"""Cases hold recorded decisions with a judgement, and a trial asks their questions without the plan."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, order, payments, planner, stock, the_wait
from test_lookups import FIND, library

from soorma_ai import Approval, Platform
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.trials.asking import Asker, Budget
from soorma_ai.features.trials.cases.files import read_cases, write_cases
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase
from soorma_ai.features.trials.cases.replay import CaseReplay
from soorma_ai.features.trials.cases.rules import without
from soorma_ai.features.trials.local_trial import MemoryLedger
from soorma_ai.features.trials.records import ModelTrial, Outcome
from soorma_ai.kernel.domain.values import Json
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, publish, publish_all

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
CHEAPER = publish("payment.charge.requested", amount=7.5)
DONE = complete({"reserved": True})
GATE = Approval(approvers=("manager",))


async def answered(platform: Platform, *script: Item, **answer: Any) -> str:
    """Return a plan with an answered approval of its charge."""
    plan = await order(platform, planner([*script]), payments(GATE), stock())
    wait = await the_wait(platform)
    payload = answer.pop("payload")
    assert await platform.answer(wait.wait_id, payload, **answer) == "accepted"
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def finished(platform: Platform, *script: Item) -> str:
    plan = await order(platform, planner([*script]), stock(), payments())
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def try_case(platform: Platform, case: DecisionCase, *answers: Item, registered: bool = True) -> ModelTrial:
    events = await platform.services.store.registry.all_events("default") if registered else ()
    asker = Asker(ScriptedReasoner([*answers]), MemoryLedger(), platform.services.clock, Budget(), len(answers))
    return await CaseReplay(platform.services.prompts, events, asker).try_case(case)


async def test_an_edited_approval_makes_a_case_with_the_edited_payload(platform: Platform) -> None:
    edited = {"data": {"amount": 7.5}}
    await answered(platform, RESERVE, CHARGE, DONE, payload=edited, decision="edit", note="a voucher")
    assert await platform.collect_cases() == 1
    (case,) = await platform.cases()
    assert (case.name, case.kind, case.number, case.note) == ("orders", CaseKind.SHOULD, 2, "a voucher")
    assert case.should is not None
    assert case.should["step"] == CHEAPER["step"]
    assert await platform.collect_cases() == 0


async def test_an_edited_request_among_several_is_replaced_alone(platform: Platform) -> None:
    both = publish_all(RESERVE, CHARGE)
    await answered(platform, both, DONE, payload={"data": {"amount": 7.5}}, decision="edit")
    await platform.collect_cases()
    (case,) = await platform.cases("orders")
    assert case.should is not None
    assert case.should["step"] == publish_all(RESERVE, CHEAPER)["step"]


async def test_a_rejected_approval_makes_a_case_and_an_approved_one_makes_none(platform: Platform) -> None:
    await answered(platform, CHARGE, RESERVE, DONE, payload={"approved": False}, note="not today")
    await platform.collect_cases()
    (case,) = await platform.cases()
    assert (case.kind, case.should, case.note) == (CaseKind.WRONG, None, "not today")


async def test_an_approved_request_makes_no_case(platform: Platform) -> None:
    await answered(platform, CHARGE, DONE, payload={"approved": True})
    assert await platform.collect_cases() == 0


async def test_the_edited_payload_is_good_and_the_recorded_one_is_not(platform: Platform) -> None:
    await answered(platform, CHARGE, DONE, payload={"data": {"amount": 7.5}}, decision="edit")
    await platform.collect_cases()
    (case,) = await platform.cases()
    assert (await try_case(platform, case, CHEAPER)).is_same
    trial = await try_case(platform, case, CHARGE, CHEAPER)
    assert trial.first is not None
    assert trial.first.outcome is Outcome.DIFFERENT
    assert {'-  "amount": 7.5', '+  "amount": 9.0'} <= {*trial.first.answer}
    assert [(one.good, one.count) for one in trial.scores] == [(1, 2)]


async def test_any_accepted_decision_but_the_rejected_one_is_good(platform: Platform) -> None:
    await answered(platform, CHARGE, RESERVE, DONE, payload={"approved": False})
    await platform.collect_cases()
    (case,) = await platform.cases()
    trial = await try_case(platform, case, CHARGE, RESERVE, CHEAPER, publish("no.such.event"))
    assert [(one.good, one.count) for one in trial.scores] == [(2, 4)]
    assert trial.first is not None
    assert trial.first.reason == "payment.charge.requested as it was rejected"


async def test_a_decision_is_made_a_case_by_its_number(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    right = await platform.add_case(plan_id, 1, "shop")
    should = await platform.add_case(plan_id, 2, "shop", should={"amount": 7.5})
    assert {one.case_id for one in await platform.cases("shop")} == {right.case_id, should.case_id}
    assert (await try_case(platform, right, RESERVE)).is_same
    assert (await try_case(platform, should, CHEAPER)).is_same
    with pytest.raises(NotFound):
        await platform.add_case(plan_id, 4, "shop")


async def test_a_refused_or_lost_question_makes_no_case(platform: Platform) -> None:
    plan_id = await finished(platform, "no JSON", DONE)
    with pytest.raises(LocalProtocolError, match="refused"):
        await platform.add_case(plan_id, 1, "shop")


async def test_a_lookup_makes_no_case(platform: Platform) -> None:
    minds = planner([FIND, publish("torch.dim", shelf="A"), complete({})], offer_tokens=1_500)
    plan = await order(platform, minds, library())
    await plan.result(timeout=PATIENCE)
    with pytest.raises(LocalProtocolError, match="a lookup"):
        await platform.add_case(plan.plan_id, 1, "shop")


async def test_free_parts_of_a_payload_are_not_compared(platform: Platform) -> None:
    plan_id = await finished(platform, CHARGE, DONE)
    case = await platform.add_case(plan_id, 1, "shop", free=["/amount"])
    assert (await try_case(platform, case, CHEAPER)).is_same
    strict = await platform.add_case(plan_id, 1, "strict")
    assert not (await try_case(platform, strict, CHEAPER)).is_same


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/a", {"b": [{"c": 1, "d/e": 2}]}),
        ("/b/0/c", {"a": 1, "b": [{"d/e": 2}]}),
        ("/b/0/d~1e", {"a": 1, "b": [{"c": 1}]}),
        ("/b/7/c", {"a": 1, "b": [{"c": 1, "d/e": 2}]}),
    ],
)
def test_a_pointer_names_a_part_to_leave_out(path: str, left: Json) -> None:
    assert without({"a": 1, "b": [{"c": 1, "d/e": 2}]}, [path]) == left


async def test_a_case_needs_nothing_of_its_pruned_plan(platform: Platform, clock: VirtualClock) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    case = await platform.add_case(plan_id, 2, "shop")
    await clock.advance(timedelta(days=3))
    await platform.prune(timedelta(days=2))
    with pytest.raises(NotFound):
        await platform.plan(plan_id)
    assert await platform.cases("shop") == [case]
    for registered in (True, False):
        assert (await try_case(platform, case, CHARGE, registered=registered)).is_same


async def test_the_cases_of_a_forgotten_user_leave_with_their_plans(platform: Platform) -> None:
    await platform.start(planner([DONE, DONE]), stock())
    people = [platform.as_user(tenant_id="default", user_id=name) for name in ("ann", "bob")]
    plans = [await person.submit("order.received", {}) for person in people]
    for plan in plans:
        await plan.result(timeout=PATIENCE)
        await platform.add_case(plan.plan_id, 1, "shop")
    await platform.forget("ann")
    assert [case.plan.lineage.user_id for case in await platform.cases()] == ["bob"]


async def test_cases_come_back_from_their_file_as_they_were(platform: Platform, tmp_path: Path) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    cases = [
        await platform.add_case(plan_id, 1, "shop"),
        await platform.add_case(plan_id, 2, "shop", should={"amount": 7.5}, free=["/note"]),
        await platform.add_case(plan_id, 3, "end"),
    ]
    written = write_cases(tmp_path / "cases", cases)
    assert {path.name: count for path, count in written.items()} == {"end.jsonl": 1, "shop.jsonl": 2}
    read = [case for path in written for case in read_cases(path)]
    assert sorted(read, key=lambda one: one.number) == cases
    assert await platform.remove_case(cases[0].case_id) is True
    assert await platform.remove_case(cases[0].case_id) is False
    assert await platform.import_cases(read) == 1
    assert sorted(await platform.cases(), key=lambda one: one.number) == cases


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('\n{"case_id": "c"}\n')
    with pytest.raises(ConfigError, match=r"odd.jsonl:2 is no case: "):
        read_cases(path)


async def test_a_question_of_two_cases_is_paid_and_counted_once(platform: Platform) -> None:
    plan_id = await finished(platform, CHARGE, DONE)
    cases = [await platform.add_case(plan_id, 1, name) for name in ("shop", "other")]
    budget, model = Budget(1.0), ScriptedReasoner([CHARGE], usd_per_token=1e-4)
    asker = Asker(model, MemoryLedger(), platform.services.clock, budget)
    replay = CaseReplay(platform.services.prompts, (), asker)
    first, second = [await replay.try_case(case) for case in cases]
    assert (first.first, second.first, len(model.questions)) == (None, None, 1)
    assert first.now.usd == pytest.approx(budget.spent)
    assert (second.now.calls, second.now.usd) == (0, 0.0)
